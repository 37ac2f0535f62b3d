"""The shortest chain of m nodes that begins at a given node.

Only the shortest matters for how many rings fit: a chain closes with loopback at its last node, so nothing but the
positions it covers is felt by others, and covering [s, e] is never worse than covering [s, e'] with e < e'.

Nodes inside a chain must be entered and left through different bundles, so the recursion carries the bundle by which
a node was entered. Results are remembered per (node, bundle entered, nodes left): planning one repair touches only
the neighbourhood it looks at.
"""

from ringlight.controller.planning.terrain import Chain, Terrain

_OPEN = -1  # the first node of a chain is entered through no bundle


class Reach:
    """Shortest chains of `nodes` nodes on a terrain."""

    def __init__(self, terrain: Terrain, nodes: int) -> None:
        self.nodes = nodes
        self._terrain = terrain
        self._lengths: dict[tuple[int, int, int], int | None] = {}

    def length(self, first: int) -> int | None:
        """How many positions further the shortest chain from `first` ends, or None when there is none."""
        if not self._terrain.usable(first):
            return None
        length = self._length(first, _OPEN, self.nodes - 1)
        return length if length is not None and length < self._terrain.size else None

    def chain(self, first: int) -> Chain:
        """The shortest chain from `first`; among equally short ones, the one with the shortest first hops."""
        chain, entered, position = [first], _OPEN, first
        for left in range(self.nodes - 1, 0, -1):
            rest = self._length(position, entered, left)
            for step in self._terrain.steps(position):
                target = self._terrain.wrap(position + step.distance)
                beyond = self._length(target, step.enter[0], left - 1)
                if step.leave[0] != entered and beyond is not None and step.distance + beyond == rest:
                    chain.append(target)
                    position, entered = target, step.enter[0]
                    break
        return tuple(chain)

    def _length(self, position: int, entered: int, left: int) -> int | None:
        if left == 0:
            return 0
        key = (position, entered, left)
        if key not in self._lengths:
            best: int | None = None
            for step in self._terrain.steps(position):
                if step.leave[0] == entered:
                    continue
                beyond = self._length(self._terrain.wrap(position + step.distance), step.enter[0], left - 1)
                if beyond is not None and (best is None or step.distance + beyond < best):
                    best = step.distance + beyond
            self._lengths[key] = best
        return self._lengths[key]
