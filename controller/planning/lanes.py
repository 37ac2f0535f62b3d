"""The ways on from every node of a lane, computed once for all the searches that lay rings into it.

A *way point* is a node together with the bundle by which a ring entered it, because a ring must leave by another
one. Way points are numbered; `Ways` holds, by number, position, row, the way points one hop further, and how many
more nodes can follow. A ring never leaves its lane, so rings of different lanes never meet.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ringlight.controller.planning.order import Chain, Order
from ringlight.controller.planning.racks import Lane

Option = tuple[int, int, int]  # row, way point, usable nodes passed over on the way there

_OPEN = -1  # the first node of a ring is entered through no bundle


class Ways:
    """Way points of a band of lanes for rings of `nodes` nodes.

    Attributes:
        nodes: nodes a ring, m.
        lanes: the lanes of the band.
        position: by way point.
        row: by way point.
        row_at: by position of a usable node.
        size: positions in the whole order.
    """

    def __init__(self, order: Order, rows: Sequence[int], lanes: Sequence[Lane], nodes: int) -> None:
        self.nodes = nodes
        self.lanes = lanes
        self.position: list[int] = []
        self.row: list[int] = []
        self.row_at: dict[int, int] = {}
        self.size = order.size
        self._onward: list[tuple[int, ...]] = []  # by way point, those one hop further, nearest first
        self._depth: list[int] = []  # by way point, how many nodes can follow it in a ring, at most nodes - 1
        self._starts: list[list[int]] = []  # by lane, the way points where a ring can begin, in order
        self._options: dict[tuple[int, int], tuple[Option, ...]] = {}
        self._usable_before = [0]
        for position in range(order.size):
            self._usable_before.append(self._usable_before[-1] + order.is_free(position))
        for lane in lanes:
            self._add(order, rows, lane)
        self._start_positions = [[self.position[start] for start in starts] for starts in self._starts]
        self._start_rows = [[self.row[start] for start in starts] for starts in self._starts]
        self._lane_rows = [rows[lane.first : lane.last + 1] for lane in lanes]

    def _add(self, order: Order, rows: Sequence[int], lane: Lane) -> None:
        entries: dict[int, set[int]] = {}  # by position, the bundles a ring can come in by
        for position in range(lane.first, lane.last + 1):
            if order.is_free(position):
                entries.setdefault(position, set()).add(_OPEN)
                for step in order.steps(position):
                    if position + step.distance <= lane.last:
                        entries.setdefault(position + step.distance, set()).add(step.enter[0])
        points: dict[tuple[int, int], int] = {}
        starts: list[int] = []
        for position in sorted(entries, reverse=True):
            self.row_at[position] = rows[position]
            for entered in sorted(entries[position]):
                onward = tuple(
                    points[position + step.distance, step.enter[0]]
                    for step in order.steps(position)
                    if step.leave[0] != entered and position + step.distance <= lane.last
                )
                point = points[position, entered] = len(self.position)
                self.position.append(position)
                self.row.append(rows[position])
                self._onward.append(onward)
                self._depth.append(min(self.nodes - 1, max((1 + self._depth[to] for to in onward), default=0)))
                if entered == _OPEN and self._depth[point] == self.nodes - 1:
                    starts.append(point)
        self._starts.append(starts[::-1])

    def usable_between(self, after: int, before: int) -> int:
        """Usable nodes strictly between two positions of one lane."""
        return self._usable_before[before] - self._usable_before[after + 1] if before > after else 0

    def nth_usable(self, lane: int, count: int) -> int:
        """The position of a lane before which it has `count` usable nodes; the last such."""
        ends = self.lanes[lane]
        return min(ends.last, bisect_right(self._usable_before, self._usable_before[ends.first] + count) - 1)

    def first_start(self, lane: int, after: int, row: int) -> int | None:
        """The first way point beyond position `after`, at `row` or later, where a ring can begin."""
        index = max(bisect_left(self._start_positions[lane], after + 1), bisect_left(self._start_rows[lane], row))
        return self._starts[lane][index] if index < len(self._starts[lane]) else None

    def start_at(self, lane: int, row: int) -> int | None:
        """The way point at exactly `row` where a ring can begin."""
        index = bisect_left(self._start_rows[lane], row)
        found = index < len(self._starts[lane]) and self._start_rows[lane][index] == row
        return self._starts[lane][index] if found else None

    def last_to_row(self, lane: int, row: int, position: int) -> int:
        """The last position of a lane, not before `position`, that is not beyond `row`."""
        first = self.lanes[lane].first
        return max(position, first - 1 + bisect_right(self._lane_rows[lane], row))

    def options(self, point: int, left: int) -> tuple[Option, ...]:
        """Ways on when `left` nodes are still to follow, nearest first."""
        key = (point, left)
        if key not in self._options:
            here = self.position[point]
            self._options[key] = tuple(
                (self.row[to], to, self.usable_between(here, self.position[to]))
                for to in self._onward[point]
                if self._depth[to] >= left - 1
            )
        return self._options[key]

    def in_step(self, lanes: Sequence[int], row: int) -> tuple[Chain, ...] | None:
        """A ring in each lane, beginning at a row and all in the same rows, the nearest; None if they get stuck."""
        points = [start for lane in lanes if (start := self.start_at(lane, row)) is not None]
        if len(points) < len(lanes):
            return None
        columns = [points]
        for left in range(self.nodes - 1, 0, -1):
            onward = [{there: to for there, to, _ in self.options(point, left)} for point in columns[-1]]
            common = min((there for there in onward[0] if all(there in each for each in onward)), default=None)
            if common is None:
                return None
            columns.append([each[common] for each in onward])
        return tuple(tuple(self.position[point] for point in ring) for ring in zip(*columns, strict=True))
