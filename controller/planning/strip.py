"""A stretch of the order, and where rings fit into it.

A *ring* here is the stretch that a chain of m nodes covers. Two facts carry the whole planner:

- Of all rings that lie in [p, last], taking the one that ends first leaves most to whatever comes behind it. So as many
  rings as possible are laid from p on by taking, again and again, the one that ends first (the exchange argument).
- A chain of more than m nodes that ends at x holds one of m nodes that ends at x. So the ring that ends first ends at
  the first x at which some chain from p on has m nodes, and one pass finds it: for each position, the most nodes of a
  chain that ends there. Where a node must not be entered and left through the same bundle, the pass keeps that number
  for each bundle through which the position can be entered.
"""

from collections.abc import Iterator, Sequence

from ringlight.controller.planning.cabling import Cabling, Kind

_OPEN = -1  # the first node of a chain is entered through no bundle


class Strip:
    """Usable nodes and live hops of the stretch [first, last], without any ring.

    A strip of a closed order is a line: no hop leads over its ends.
    """

    __slots__ = ("_live", "_ports_agree", "_runs", "_usable", "cabling", "first", "last")

    def __init__(self, cabling: Cabling, first: int, usable: bytes, live: Sequence[bytes]) -> None:
        self.cabling = cabling
        self.first = first
        self.last = first + len(usable) - 1
        self._usable = usable
        self._live = tuple(zip(cabling.distances, live, strict=True))
        self._ports_agree = cabling.ports_agree
        self._runs = cabling.next_to_next

    def __len__(self) -> int:
        return len(self._usable)

    def is_usable(self, position: int) -> bool:
        """Whether a node may be used."""
        return bool(self._usable[position - self.first])

    def usable_in(self, first: int, last: int) -> int:
        """How many nodes of [first, last] may be used."""
        return self._usable.count(1, first - self.first, last + 1 - self.first)

    def hops_from(self, position: int) -> Iterator[tuple[int, Kind]]:
        """Live hops to usable nodes of the strip: where each leads, and its kind, shortest first."""
        start = position - self.first
        for distance, kinds in self._live:
            kind = self.cabling.kinds[kinds[start]]
            if kind is not None and start + distance < len(self._usable) and self._usable[start + distance]:
                yield position + distance, kind

    def earliest_end(self, start: int, nodes: int) -> int | None:
        """Where the ring of `nodes` nodes ends that ends first among those in [start, last]; None if there is none."""
        place = start - self.first
        end = place + nodes - 1
        if end >= len(self._usable):
            return None
        if self._is_run(place, end):
            return self.first + end
        found = self._scan(place, nodes) if self._ports_agree else self._scan_ports(place, nodes)
        return None if found is None else self.first + found

    def _is_run(self, place: int, end: int) -> bool:
        """Whether each node of a stretch is usable and joined to the next: the usual case, seen at a glance."""
        return (
            self._runs
            and self._usable.find(0, place, end + 1) < 0
            and (place == end or self._live[0][1].find(0, place, end) < 0)
        )

    def _scan(self, place: int, nodes: int) -> int | None:
        usable, links = self._usable, self._live
        longest: list[int] = []  # by position from `place`: nodes of the longest chain that ends there
        for x in range(place, len(usable)):
            if not usable[x]:
                longest.append(0)
                continue
            most = 0
            for distance, kinds in links:
                y = x - distance
                if y < place:
                    break
                if kinds[y] and longest[y - place] > most:
                    most = longest[y - place]
            if most + 1 == nodes:
                return x
            longest.append(most + 1)
        return None

    def _scan_ports(self, place: int, nodes: int) -> int | None:
        usable, kinds_of = self._usable, self.cabling.kinds
        longest: dict[int, dict[int, int]] = {}  # by position, by bundle entered
        for x in range(place, len(usable)):
            if not usable[x]:
                continue
            here = {_OPEN: 1}
            for distance, kinds in self._live:
                y = x - distance
                if y < place:
                    break
                kind = kinds_of[kinds[y]]
                if kind is not None and y in longest:
                    leave, enter = kind.leave[0], kind.enter[0]
                    most = max((n for entered, n in longest[y].items() if entered != leave), default=0)
                    here[enter] = max(here.get(enter, 0), most + 1 if most else 0)
            if max(here.values()) >= nodes:
                return x
            longest[x] = here
        return None

    def ends(self, nodes: int) -> list[int | None]:
        """`earliest_end` of every position of the strip, in order."""
        ends: list[int | None] = []
        start = self.first
        while (end := self.earliest_end(start, nodes)) is not None:
            # Up to where the ring that ends there can begin, no other ring ends earlier.
            latest = start if end == start + nodes - 1 else self.chain_to(end, nodes)[0]
            ends += [end] * (latest + 1 - start)
            start = latest + 1
        return ends + [None] * (len(self) - len(ends))

    def room(self, start: int, nodes: int, most: int) -> int:
        """How many rings fit into [start, last], counted up to `most`."""
        rings = 0
        while rings < most and (end := self.earliest_end(start, nodes)) is not None:
            rings, start = rings + 1, end + 1
        return rings

    def chain_to(self, end: int, nodes: int) -> tuple[int, ...]:
        """The shortest chain of `nodes` nodes that ends at `end`, unrolled.

        `end` must be an answer of `earliest_end`: no ring ends before it, so the first place, looking back from it,
        from which a chain of so many nodes leads on is where the shortest ring begins.
        """
        last = end - self.first
        if self._is_run(last - nodes + 1, last):
            return tuple(range(end - nodes + 1, end + 1))
        # By position: for each bundle through which it can be left, nodes of the longest chain, and where that goes on.
        onward: dict[int, dict[int, tuple[int, int, int]]] = {}
        for x in range(end, self.first - 1, -1):
            if not self.is_usable(x):
                continue
            onward[x] = here = {_OPEN: (1, x, _OPEN)}
            for y, kind in self.hops_from(x):
                leave, enter = kind.leave[0], kind.enter[0]
                for after, (count, _, _) in onward[y].items() if y <= end else ():
                    if after != enter and count >= here.get(leave, (0,))[0]:
                        here[leave] = (count + 1, y, after)
            best = max(here, key=lambda leave: here[leave][0])
            if here[best][0] == nodes:
                return _follow(onward, x, best)
        raise AssertionError("no ring ends here")


def _follow(onward: dict[int, dict[int, tuple[int, int, int]]], x: int, leave: int) -> tuple[int, ...]:
    chain = [x]
    while leave != _OPEN:
        _, x, leave = onward[x][leave]
        chain.append(x)
    return tuple(chain)
