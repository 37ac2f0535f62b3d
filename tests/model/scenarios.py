"""What is explored: how often each bad thing may happen. Each scenario is exhaustive within its budget.

All at once would be some millions of states, so continuous integration takes them in parts, and
`python -m tests.model` the big ones.
"""

from typing import NamedTuple

from tests.model.explorer import Result, explore
from tests.model.rules import RULES, Rules
from tests.model.states import Budget, first_world


class Scenario(NamedTuple):
    """A budget under a name; `old_store`: whoever starts reads a copy of the store from before the first term."""

    name: str
    budget: Budget
    old_store: bool = False
    rules: Rules = RULES

    def explore(self, rules: Rules | None = None) -> Result:
        return explore(self.rules if rules is None else rules, first_world(self.budget, old_store=self.old_store))


KEEPING = RULES._replace(forgets_commands=False)

TAKE_OVER = Scenario("take-over from a paused controller while a node fails", Budget(overlaps=1, faults=1))
TWO_CRASHES = Scenario("two crashes of controllers or agents while a node fails", Budget(crashes=2, faults=1))
NOTHING_ASKED = Scenario(
    "take-over, two crashes, an impatient start, agents that stray to the former controller, and no fault at all",
    Budget(overlaps=1, crashes=2, graces=1, strays=1),
)
OLD_STORE = Scenario("take-over with an old copy of the store", Budget(overlaps=1, faults=1), old_store=True)
DRAIN_TAKE_OVER = Scenario("take-over during a planned change", Budget(overlaps=1, drains=1))
DRAIN_CRASH = Scenario("a crash during a planned change", Budget(crashes=1, drains=1))
DRAIN_REVERT = Scenario("a planned change that is undone on one node", Budget(drains=1, reverts=1))
CUT = Scenario("a session that breaks while a node fails", Budget(cuts=1, faults=1))
SECOND_THOUGHTS = Scenario("a second plan while the first is in flight", Budget(faults=1, recoveries=1, timeouts=1))
LATE_COMMANDS = Scenario(
    "take-over while agents still carry out what the former controller told them",
    Budget(overlaps=1, faults=1),
    rules=KEEPING,
)

QUICK = (
    TAKE_OVER,
    TWO_CRASHES,
    NOTHING_ASKED,
    OLD_STORE,
    DRAIN_TAKE_OVER,
    DRAIN_CRASH,
    DRAIN_REVERT,
    CUT,
    SECOND_THOUGHTS,
    LATE_COMMANDS,
)

BIG = (
    Scenario("take-over and one crash while a node fails", Budget(overlaps=1, crashes=1, faults=1)),
    Scenario("take-over by an impatient controller while a node fails", Budget(overlaps=1, graces=1, faults=1)),
    Scenario("take-over and a broken session while a node fails", Budget(overlaps=1, cuts=1, faults=1)),
    Scenario("take-over and an early time-out while a node fails", Budget(overlaps=1, timeouts=1, faults=1)),
    Scenario("take-over during a planned change that is undone", Budget(overlaps=1, drains=1, reverts=1)),
    Scenario("a crash during a planned change that is undone", Budget(crashes=1, drains=1, reverts=1)),
    Scenario("two crashes during a planned change", Budget(crashes=2, drains=1)),
)
