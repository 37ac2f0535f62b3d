"""The question that the page answers first: can I train now? A pure function of what the engine shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ringlight.controller.engine.state import JobState
from ringlight.controller.engine.view import FabricView, GateView, JobView

_GATES = {
    "silence": "silence is not judged",
    "breaker": "the breaker has tripped, so nothing moves",
    "pause": "paused, so nothing moves",
    "term": "this controller commands nothing any more",
}


class Word(StrEnum):
    """The answer in a word; the page has a sign and a colour for each."""

    YES = "yes"
    UNSURE = "unsure"  # the controller has just started, and has not seen every ring's light yet
    LESS = "less"  # some job has fewer rings than it asked for, and enough to run
    SOON = "soon"  # some job's rings are being switched for the first time
    NO = "no"  # some job has fewer rings than it needs


_GRAVITY = (Word.YES, Word.SOON, Word.LESS, Word.NO)
_WORD_OF_JOB = {
    JobState.RUNNING: Word.YES,
    JobState.PLACING: Word.SOON,
    JobState.DEGRADED: Word.LESS,
    JobState.WAITING: Word.NO,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer: its word, a line that says it, and what else one must know."""

    word: Word
    line: str
    notes: tuple[str, ...]


def answer(fabric: FabricView, jobs: Sequence[JobView], *, starting: bool, store_trouble: str) -> Answer:
    """Whether the jobs of a fabric can train now; the job that fares worst decides."""
    live = [job for job in jobs if job.state in _WORD_OF_JOB]
    word = max((_WORD_OF_JOB[JobState(job.state)] for job in live), key=_GRAVITY.index, default=Word.YES)
    worst = [job for job in live if _WORD_OF_JOB[JobState(job.state)] is word]
    notes = [*_notes_of_gates(fabric.gates)]
    if store_trouble:
        notes.append(f"the store cannot be written: {store_trouble}")
    if starting and word is not Word.YES:
        line = f"The controller has just started and has seen the light of {_rings(live)} so far. Starting moves none."
        return Answer(Word.UNSURE, line, tuple(notes))
    return Answer(word, _line(fabric, word, live, worst), tuple(notes))


def _line(fabric: FabricView, word: Word, live: Sequence[JobView], worst: Sequence[JobView]) -> str:
    if not live:
        spare = fabric.spares * fabric.gpus_per_node
        return f"No job asks for rings. {_counted(spare, 'GPU')} could be given to one."
    names = ", ".join(job.name for job in worst)
    match word:
        case Word.YES:
            return f"Every ring that was asked for carries light: {_rings(live)}."
        case Word.SOON:
            return f"Light is being switched for {names}: {_rings(worst)} so far."
        case Word.LESS:
            return f"{names} can train with fewer rings than asked for: {_rings(worst)}."
        case _:
            return f"Too few rings for {names}: {_rings(worst)}."


def _rings(jobs: Iterable[JobView]) -> str:
    counted = list(jobs)
    return f"{sum(job.active for job in counted)} of {_counted(sum(job.rings for job in counted), 'ring')}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _notes_of_gates(gates: Iterable[GateView]) -> Iterable[str]:
    for gate in gates:
        if not gate.open:
            yield f"{_GATES.get(gate.name, gate.name)}: {gate.reason}"
