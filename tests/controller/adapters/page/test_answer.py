"""Can I train now? The job that fares worst decides, and what keeps the controller from healing is said."""

from dataclasses import replace

import pytest

from ringlight.controller.adapters.page.answer import Word, answer
from ringlight.controller.engine.view import GateView, view_fabric, view_jobs


@pytest.fixture
def views(world):
    (job,) = view_jobs(world.engine.state)
    return view_fabric(world.engine.state, world.now), job


def ask(fabric, *jobs, starting=False, store_trouble=""):
    return answer(fabric, jobs, starting=starting, store_trouble=store_trouble)


def test_yes_when_every_ring_carries_light(views):
    fabric, job = views
    told = ask(fabric, job)
    assert (told.word, told.notes) == (Word.YES, ())
    assert told.line == "Every ring that was asked for carries light: 2 of 2 rings."


@pytest.mark.parametrize(
    ("state", "active", "word", "line"),
    [
        ("PLACING", 0, Word.SOON, "Light is being switched for train: 0 of 2 rings so far."),
        ("DEGRADED", 1, Word.LESS, "train can train with fewer rings than asked for: 1 of 2 rings."),
        ("WAITING", 0, Word.NO, "Too few rings for train: 0 of 2 rings."),
    ],
)
def test_each_state_of_a_job_has_its_answer(views, state, active, word, line):
    fabric, job = views
    told = ask(fabric, replace(job, state=state, active=active))
    assert (told.word, told.line) == (word, line)


def test_the_job_that_fares_worst_decides_and_is_named(views):
    fabric, job = views
    jobs = [
        replace(job, name="a", state="RUNNING"),
        replace(job, name="b", state="WAITING", active=0),
        replace(job, name="c", state="DEGRADED", active=1),
        replace(job, name="d", state="RELEASED", active=0),
    ]
    told = ask(fabric, *jobs)
    assert told.word is Word.NO
    assert told.line.startswith("Too few rings for b:")


def test_without_a_job_it_says_what_one_could_get(views):
    fabric, _ = views
    told = ask(replace(fabric, spares=1_000))
    assert told.word is Word.YES
    assert told.line == "No job asks for rings. 4,000 GPUs could be given to one."


def test_after_a_start_it_is_not_sure_before_it_has_seen_the_light(views):
    fabric, job = views
    told = ask(fabric, replace(job, state="WAITING", active=1), starting=True)
    assert told.word is Word.UNSURE
    assert "1 of 2 rings" in told.line
    assert ask(fabric, job, starting=True).word is Word.YES


def test_shut_gates_and_a_failing_store_are_said_in_words(views):
    fabric, job = views
    gates = tuple(GateView(name, open=False, reason="because") for name in ("silence", "breaker", "pause", "term"))
    told = ask(replace(fabric, gates=gates), job, store_trouble="disk full")
    assert told.word is Word.YES
    assert told.notes == (
        "silence is not judged: because",
        "the breaker has tripped, so nothing moves: because",
        "paused, so nothing moves: because",
        "this controller commands nothing any more: because",
        "the store cannot be written: disk full",
    )
