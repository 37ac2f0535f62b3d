"""Transaction, fencing and take-over, explored to the last interleaving (pitfalls 4, 14-17, 35, 36, 39)."""

import pytest

from tests.model.explorer import Result, explore
from tests.model.rules import RULES
from tests.model.scenarios import QUICK, TAKE_OVER, Scenario
from tests.model.states import Budget, first_world


@pytest.mark.parametrize("scenario", QUICK, ids=lambda scenario: scenario.name)
def test_nothing_that_can_happen_breaks_an_invariant_or_ends_in_a_dead_end(
    scenario: Scenario, explored: dict[str, Result]
):
    result = scenario.explore()
    explored[scenario.name] = result
    assert not result.broken, str(result)
    assert result.states > 1000


def test_every_run_visits_the_same_states():
    first, second = TAKE_OVER.explore(), TAKE_OVER.explore()
    assert (first.states, first.steps) == (second.states, second.steps)


def test_with_nothing_going_wrong_nothing_happens():
    result = explore(RULES, first_world(Budget()))
    assert (result.states, result.steps, result.broken) == (1, 0, "")
