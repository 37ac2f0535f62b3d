"""Rings of all lanes of a band laid together, so that equal ranks stand under one ToR: an alignment with a price.

A lane is a sequence of rows in which faults are gaps, and laying rings into several lanes is an alignment of these
sequences. One ring from each lane makes an *aligned set*; rank r of all its rings is a *column*. A column costs the
number of different rows in it less one: as many neighbour pairs are under different ToRs when the rings are ordered
well, since lanes that fall out of step one after another stay in order. Past a fault in one lane there are two ways:

- the other lanes leave their healthy nodes there unused, and all stay in step;
- that lane runs ahead, a mismatch a column, until the others skip a row too: at a fault of theirs, which costs
  nothing more, or of their own accord. Shifts of several lanes cancel so.

The two are weighed by a price for each healthy node left unused. A low price gives few rings, all aligned; a high one
many rings out of step. What price gives just the rings wanted is for the caller to find out.

A lane may also *sit out* a set, where a break (K or more faults in a row) leaves it no room for a ring, instead of
making all others wait. Such an incomplete set shares a group with others, which costs about one ring pair.

All lanes may also wait for the first row from which they can stay in step, beyond faults that none can pass so.

The search goes column by column and keeps the best few states: exact alignment of p sequences grows with the p-th
power of the widest shift, but far from any fault one state is all that matters, and near one a few dozen.
"""

from bisect import bisect_left
from collections.abc import Iterator

from ringlight.controller.planning.lanes import Option, Ways
from ringlight.controller.planning.order import Chain

_WIDTH = 48  # states kept a column; with 200 the rate is hardly better, and the time four times as long
_MARGIN = 24.0  # states that cost so much more than the best, in mismatches, never catch up
_LINES = 4  # rows tried for a new set to begin at
_LIMITS = 3  # rows tried for its last ring to begin at

AlignedSet = tuple[Chain, ...]

# Inside a set: a way point by lane, and for a lane that sits out `_resting(position)`, which is negative.
# Between sets: the last position passed, by lane.
_State = tuple[int, ...]
_Move = tuple[_State, int, int]  # to a state, with so many mismatches and healthy nodes left unused
_Link = tuple["_Link | None", _State]  # the columns so far, last first
_Layer = dict[_State, tuple[float, _Link | None]]


class Weaver:
    """The search over one band. What it learns about the ground serves every price."""

    def __init__(self, ways: Ways) -> None:
        self.ways = ways
        self._moves: dict[tuple[_State, int], tuple[_Move, ...]] = {}  # by state and nodes still to follow
        everyone = range(len(ways.lanes))
        # Rows from which all lanes can lay a ring in step.
        self._in_step = [row for row in sorted(set(ways.row)) if ways.in_step(everyone, row) is not None]

    def weave(self, price: float) -> list[AlignedSet]:
        """Aligned sets, in order, that cost least in mismatches plus `price` a healthy node left unused."""
        lanes, nodes = self.ways.lanes, self.ways.nodes
        layer: _Layer = {tuple(lane.first - 1 for lane in lanes): (0.0, None)}
        best: tuple[float, _Link | None] | None = None
        while layer:
            for state, (cost, link) in layer.items():
                ends = (self.ways.usable_between(last, lane.last + 1) for last, lane in zip(state, lanes, strict=True))
                total = cost + price * sum(ends)
                if best is None or total < best[0]:
                    best = total, link
            for left in range(nodes, 0, -1):
                layer = self._advance(layer, left, price)
            layer = _close(self.ways, layer, price)
        return _read(self.ways, best[1] if best else None)

    def _advance(self, layer: _Layer, left: int, price: float) -> _Layer:
        """Every state moved one column on; of those that then stand alike the cheapest, and of all the cheapest few."""
        following: _Layer = {}
        known = self._moves
        for state, (cost, link) in layer.items():
            moves = known.get((state, left))
            if moves is None:
                whole = left == self.ways.nodes
                moves = tuple(self._begin(state) if whole else _onward(self.ways, state, left))
                known[state, left] = moves
            for moved, mismatches, unused in moves:
                total = cost + mismatches + price * unused
                rival = following.get(moved)
                if rival is None or total < rival[0]:
                    following[moved] = total, (link, moved)
        if len(following) < 2:  # noqa: PLR2004  # nothing to choose from
            return following
        bound = min(cost for cost, _ in following.values()) + _MARGIN
        close = [(cost, state, link) for state, (cost, link) in following.items() if cost <= bound]
        close.sort(key=lambda entry: entry[:2])
        return {state: (cost, link) for cost, state, link in close[:_WIDTH]}

    def _begin(self, state: _State) -> Iterator[_Move]:
        """Every sensible first column of the next set."""
        ways = self.ways
        firsts = _starts(ways, state, 0)
        tried: set[_State] = set()
        for line in sorted({ways.row[start] for start in firsts if start is not None})[:_LINES]:
            starts = _starts(ways, state, line)
            limits = sorted({ways.row[start] for start in starts if start is not None})[:_LIMITS]
            for limit in limits:
                for chosen in (starts, _gathered(ways, starts, line, limit)):
                    tried.add(_joining(ways, state, chosen, limit))
        if None not in firsts:
            row = self._next_in_step(max(ways.row[start] for start in firsts if start is not None))
            if row is not None:
                tried.add(_joining(ways, state, _starts(ways, state, row), row))
        for moved in sorted(tried):
            yield _beginning(ways, state, moved)

    def _next_in_step(self, row: int) -> int | None:
        """The first row, from one on, from which all lanes can lay a ring in step; maybe beyond a break."""
        index = bisect_left(self._in_step, row)
        return self._in_step[index] if index < len(self._in_step) else None


def _starts(ways: Ways, state: _State, row: int) -> list[int | None]:
    """By lane, the first way point beyond the state, at `row` or later, where a ring can begin."""
    return [ways.first_start(lane, last, row) for lane, last in enumerate(state)]


def _gathered(ways: Ways, starts: list[int | None], line: int, limit: int) -> list[int | None]:
    """The lanes that cannot begin at `line` begin together, at `limit`."""
    return [
        ways.start_at(lane, limit) if start is not None and line < ways.row[start] <= limit else start
        for lane, start in enumerate(starts)
    ]


def _joining(ways: Ways, state: _State, starts: list[int | None], limit: int) -> _State:
    """Lanes that can begin by `limit` do, the others sit out."""
    return tuple(
        start if start is not None and ways.row[start] <= limit else _resting(last)
        for start, last in zip(starts, state, strict=True)
    )


def _beginning(ways: Ways, state: _State, moved: _State) -> _Move:
    begun = [(last, start) for last, start in zip(state, moved, strict=True) if start >= 0]
    unused = sum(ways.usable_between(last, ways.position[start]) for last, start in begun)
    lone = ways.nodes if len(begun) < len(moved) else 0
    return moved, len({ways.row[start] for _, start in begun}) - 1 + lone, unused


def _onward(ways: Ways, state: _State, left: int) -> Iterator[_Move]:
    """Every sensible next column, with which `left` nodes are still to be laid.

    Lanes go to one row if they can, and else to the nearest they can reach.
    """
    options = [ways.options(point, left) if point >= 0 else () for point in state]
    rows = {lane[0][0] for lane in options if lane}
    if len(rows) > 1:
        rows = {option[0] for lane in options for option in lane}
    for row in sorted(rows):
        yield _column(state, options, row)


def _column(state: _State, options: list[tuple[Option, ...]], row: int) -> _Move:
    moved = []
    unused = 0
    rows = set()
    for point, lane in zip(state, options, strict=True):
        if not lane:
            moved.append(point)
            continue
        choice = lane[0]
        if choice[0] < row:
            for option in lane:
                if option[0] == row:
                    choice = option
        rows.add(choice[0])
        moved.append(choice[1])
        unused += choice[2]
    return tuple(moved), len(rows) - 1, unused


def _close(ways: Ways, layer: _Layer, price: float) -> _Layer:
    """From last columns to positions passed. A lane that sat out passes the rows that every ring passed."""
    closed: _Layer = {}
    for state, (cost, link) in layer.items():
        row = min(ways.row[point] for point in state if point >= 0)
        unused = 0
        passed = []
        for lane, point in enumerate(state):
            last = ways.position[point] if point >= 0 else ways.last_to_row(lane, row, _resting(point))
            if point < 0:
                unused += ways.usable_between(_resting(point), last + 1)
            passed.append(last)
        key = tuple(passed)
        total = cost + price * unused
        if key not in closed or total < closed[key][0]:
            closed[key] = total, link
    return closed


def _resting(position: int) -> int:
    """A lane that sits out at `position` (-1 or more), as a negative number; and back."""
    return -2 - position


def _read(ways: Ways, link: _Link | None) -> list[AlignedSet]:
    columns: list[_State] = []
    while link is not None:
        link, state = link
        columns.append(state)
    columns.reverse()
    return [
        tuple(
            tuple(ways.position[column[lane]] for column in columns[begin : begin + ways.nodes])
            for lane, point in enumerate(columns[begin])
            if point >= 0
        )
        for begin in range(0, len(columns), ways.nodes)
    ]
