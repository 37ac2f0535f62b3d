"""Each rule is there for a reason: without it the explorer finds a story that ends badly, the shortest there is."""

import pytest

from tests.model.rules import RULES, Rules
from tests.model.scenarios import (
    CUT,
    DRAIN_TAKE_OVER,
    LATE_COMMANDS,
    NOTHING_ASKED,
    OLD_STORE,
    SECOND_THOUGHTS,
    TAKE_OVER,
    Scenario,
)
from tests.model.states import Budget

ONE_CRASH = Scenario("one crash while a node fails", Budget(crashes=1, faults=1))
UNDONE_AFTER_CRASH = Scenario("a crash in a planned change, undone", Budget(crashes=1, drains=1, reverts=1))

MISTAKES = {
    "an agent obeys whoever commands": (LATE_COMMANDS, RULES._replace(fences=False, forgets_commands=False), "I3"),
    "an agent that crashes forgets the epoch it obeyed": (NOTHING_ASKED, RULES._replace(keeps_epoch=False), "I3"),
    "an agent that starts brings its node to loopback": (ONE_CRASH, RULES._replace(stays_put=False), "I4"),
    "a start writes what the store says": (ONE_CRASH, RULES._replace(silent_start=False), "I6"),
    "a take-over without a new epoch": (
        TAKE_OVER,
        RULES._replace(new_epoch_at_start=False, outranks_equals=False),
        "I3",
    ),
    "generations begin anew after a crash": (
        ONE_CRASH,
        RULES._replace(reserves_generations=False, follows_generations=False),
        "liveness",
    ),
    "an old store, and no heed to what agents have applied": (
        OLD_STORE,
        RULES._replace(follows_generations=False),
        "liveness",
    ),
    "an old store, and an equal epoch is taken for our own": (OLD_STORE, RULES._replace(outranks_equals=False), "I3"),
    "the answer to an older command counts for a newer one": (CUT, RULES._replace(answers_by_generation=False), "I2"),
    "a plan from what is installed, not from what is in flight": (
        SECOND_THOUGHTS,
        RULES._replace(counts_in_flight=False),
        "I2",
    ),
    "the answer to another controller's command counts": (
        LATE_COMMANDS,
        RULES._replace(answers_by_epoch=False, forgets_commands=False),
        "liveness",
    ),
    "a command outlives its session, and is unconfirmed": (
        DRAIN_TAKE_OVER,
        RULES._replace(forgets_commands=False),
        "liveness",
    ),
    "a controller that led raises its epoch over its successor's": (
        NOTHING_ASKED,
        RULES._replace(outranks="all"),
        "I3",
    ),
    "a controller that lost its store to another raises its epoch, since it has not commanded yet": (
        NOTHING_ASKED,
        RULES._replace(outranks="uncommanded"),
        "I3",
    ),
    "a damaged ring is ACTIVE until it may be planned": (
        UNDONE_AFTER_CRASH,
        RULES._replace(damaged_is_not_active=False),
        "I2",
    ),
}


@pytest.mark.parametrize(("scenario", "rules", "breaks"), MISTAKES.values(), ids=MISTAKES.keys())
def test_the_explorer_catches(
    scenario: Scenario, rules: Rules, breaks: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
):
    result = scenario.explore(rules)
    with capsys.disabled():
        print(f"\n{request.node.callspec.id}: {result}")  # noqa: T201 - the story is what a person wants to read
    assert result.broken.startswith(breaks), str(result)
    assert result.story
