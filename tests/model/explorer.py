"""Breadth first over every reachable state: safety in each, and backwards from the good ones for what must be in reach.

No sampling and no randomness: the same scenario gives the same count. A counterexample is a shortest one.
"""

import gc
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from tests.model.actions import successors
from tests.model.canonical import canonical
from tests.model.rules import Rules
from tests.model.safety import is_good, violation, violation_of_step
from tests.model.states import World

_NEVER = "liveness: the ring can never be ACTIVE again, though nothing more goes wrong"


@dataclass(frozen=True, slots=True)
class Result:
    """What an exploration found.

    Attributes:
        states: visited.
        steps: between them.
        seconds: it took.
        broken: which invariant, in words; empty for none.
        story: the shortest way there, an action a line.
    """

    states: int
    steps: int
    seconds: float
    broken: str = ""
    story: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.broken or 'no violation'} ({self.states:,} states, {self.steps:,} steps)"]
        return "\n".join(lines + [f"  {number}. {what}" for number, what in enumerate(self.story, 1)])


def explore(rules: Rules, first: World, *, most: int = 2_000_000) -> Result:
    """Visit every state. Ends at the first violation; a scenario of more than `most` states is an error."""
    collects = gc.isenabled()
    gc.disable()  # there are no cycles among tuples, and looking for them takes a third of the time
    try:
        return _explore(rules, first, most)
    finally:
        if collects:
            gc.enable()


def _explore(rules: Rules, first: World, most: int) -> Result:
    began = time.perf_counter()
    visited = _Visited(first)
    at = steps = 0

    def result(broken: str = "", story: Sequence[str] = ()) -> Result:
        return Result(len(visited.worlds), steps, time.perf_counter() - began, broken, tuple(story))

    while at < len(visited.worlds):
        world = visited.worlds[at]
        for step in successors(rules, world):
            steps += 1
            after = canonical(rules, step.world)
            is_new = visited.note(at, after, step.what, fair=step.fair)
            broken = step.broken or violation_of_step(world, after) or (violation(after) if is_new else "")
            if broken:
                return result(broken, [*visited.story(at), step.what])
        at += 1
        if at > most:
            raise AssertionError(f"more than {most} states: this scenario is not small")
    stuck = visited.stuck()
    if stuck is not None:
        return result(_NEVER, visited.story(stuck))
    return result()


class _Visited:
    """The worlds visited, how each was reached first, and the steps between them that are bound to come."""

    def __init__(self, first: World) -> None:
        self.worlds = [first]
        self._number = {first: 0}
        self._came_from = array("L", [0])
        self._by = [""]
        self._sources, self._targets = array("L"), array("L")

    def note(self, source: int, after: World, what: str, *, fair: bool) -> bool:
        """Note a step; whether it leads to a world that was not visited before."""
        target = self._number.setdefault(after, len(self.worlds))
        is_new = target == len(self.worlds)
        if is_new:
            self.worlds.append(after)
            self._came_from.append(source)
            self._by.append(what)
        if fair and target != source:
            self._sources.append(source)
            self._targets.append(target)
        return is_new

    def story(self, of: int) -> list[str]:
        """The shortest way to a world, in words."""
        told = []
        while of:
            told.append(self._by[of])
            of = self._came_from[of]
        return told[::-1]

    def stuck(self) -> int | None:
        """The first world from which no good one can be reached by what is bound to come."""
        into: dict[int, list[int]] = {}
        for source, target in zip(self._sources, self._targets, strict=True):
            into.setdefault(target, []).append(source)
        reaching = bytearray(map(is_good, self.worlds))
        todo = [index for index, flag in enumerate(reaching) if flag]
        while todo:
            for source in into.get(todo.pop(), ()):
                if not reaching[source]:
                    reaching[source] = 1
                    todo.append(source)
        return next((index for index, flag in enumerate(reaching) if not flag), None)
