"""Where a job could gain a ring, and how many of its rings that would move at least: an index over an `Order`.

It answers "which zones gain something and move at most so many rings" for the whole order, by looking only at the
neighbourhood of what changed since it was last asked:

- *Rooms*: the gaps that hold a ring of a given size. Whatever changes a gap makes it look again at that gap.
- *Slots*: the places where a zone may begin that moves at least one ring. Each has a *price*: no zone from here that
  moves fewer rings gains anything. Prices are lower bounds. A change lowers the price of a slot d rings before it to d,
  since zones that move fewer rings end before the change; a question raises it again, first by counting idle nodes (a
  gain of one ring takes m of them), then by laying rings. So each slot is looked at once after a change near it.

A gap is a slot only if an idle node lies in it or inside the ring that follows. Otherwise the zone from there holds
nothing but the m nodes of that ring before the ring's last node; the first ring laid anew ends there at the earliest,
so keeping the ring that is there is as good and moves one fewer.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from ringlight.controller.planning.order import Order
from ringlight.controller.planning.zones import Zone, zones_from

_AHEAD = 4  # idle nodes are counted so much farther than was asked for
FAR = 128  # prices beyond are not kept: a repair that moves more rings is planned over the whole order


@dataclass(frozen=True, slots=True)
class _Slot:
    """What is known of a place where zones may begin.

    Attributes:
        job: of the ring that follows.
        price: no zone from here that moves fewer rings gains anything.
        zones: those that were found.
        moved, gain: up to which zones were looked for.
    """

    job: str
    price: int
    zones: tuple[Zone, ...] = ()
    moved: int = 0
    gain: int = 0


class Outlook:
    """The index. It changes nothing in the order, and is never asked while somebody changes it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._rooms: dict[int, list[int]] = {}  # by nodes of a ring: starts of gaps, sorted
        self._slots: dict[int, _Slot] = {}  # by gap start
        self._by_price: dict[str, dict[int, set[int]]] = {}
        self._reach = 0  # rings that may move, up to which any slot was looked at
        self._is_new = True

    # -- questions -----------------------------------------------------------------------------------------------------

    def rooms(self, nodes: int, near: int) -> Iterator[tuple[int, int]]:
        """Gaps (first, last) with room for a ring of so many nodes, nearest to a position first."""
        self._sync()
        order = self._order
        if not order.rings:  # one gap, which on a closed order begins nowhere: as far away as can be
            first = order.wrap(near - order.size // 2) if order.closed else 0
            yield first, first + order.size - 1
            return
        if nodes not in self._rooms:
            roomy = (first for first, last in order.gaps() if self._has_room(first, last, nodes))
            self._rooms[nodes] = sorted(map(order.wrap, roomy))
        starts = self._rooms[nodes]
        total = len(starts)
        after = bisect_left(starts, near + 1)
        before = after - 1
        while after - before <= total:
            ahead, behind = starts[after % total], starts[before % total]
            far_ahead, far_behind = (order.distance(gap, order.gap_end(gap), near) for gap in (ahead, behind))
            if far_behind <= far_ahead:
                before -= 1
                yield behind, order.gap_end(behind)
            else:
                after += 1
                yield ahead, order.gap_end(ahead)

    def zones(self, job: str, nodes: int, most_moved: int, most_gain: int) -> list[Zone]:
        """Every zone of a job that gains something and moves between 1 and `most_moved` rings, by where it begins."""
        self._sync()
        prices = self._by_price.get(job, {})
        slots = sorted(slot for price, of_price in prices.items() if price <= most_moved for slot in of_price)
        zones = (zone for slot in slots for zone in self._look(slot, nodes, most_moved, most_gain))
        return [zone for zone in zones if zone.moved <= most_moved]

    def cheapest_zones(self, job: str, nodes: int) -> list[Zone]:
        """The zones of a job that gain a ring and move fewest, at least 1 and at most `FAR`, by where they begin."""
        self._sync()
        for price in range(1, FAR + 1):
            for slot in self._slots_at(job, price):
                if not self._slots[slot].zones:
                    self._look(slot, nodes, min(2 * price, FAR), 1)  # sooner or later it is looked at so far anyway
            found = (zone for slot in self._slots_at(job, price) for zone in self._slots[slot].zones)
            if zones := [zone for zone in found if zone.moved == price]:
                return zones
        return []

    def _slots_at(self, job: str, price: int) -> list[int]:
        prices = self._by_price.get(job, {})
        slots = sorted(prices.get(price, ()))
        if slots:
            prices[price] = set(slots)  # a set that was large once takes long to go through
        return slots

    def _look(self, slot: int, nodes: int, most_moved: int, most_gain: int) -> tuple[Zone, ...]:
        """The zones that begin at a slot and move rings, looked for again only if so many were not looked for yet."""
        known = self._slots[slot]
        if known.moved >= most_moved and known.gain >= most_gain:
            return known.zones
        bound = min(self._count_idle(slot, nodes), _AHEAD * most_moved)
        if bound > most_moved:
            self._set(slot, _Slot(known.job, bound, moved=bound - 1, gain=self._order.size))
            return ()
        found = zones_from(self._order, slot, known.job, nodes, most_moved=most_moved, most_gain=most_gain)
        zones = tuple(zone for zone in found if zone.moved)
        price = most_moved + 1
        if zones:
            price = zones[0].moved
        elif found and found[0].gain == most_gain:
            price = 1  # it has room for all that was asked for, so what more would cost was not looked at
        self._set(slot, _Slot(known.job, price, zones, most_moved, most_gain))
        return zones

    def _count_idle(self, slot: int, nodes: int) -> int:
        """How many rings a zone must move at least to hold `nodes` idle nodes."""
        order = self._order
        turn = slot + order.size - 1
        position = slot - 1
        for _ in range(nodes):
            idle = order.idle.next(position + 1)
            if idle is None or idle > turn:
                return FAR + 1
            position = idle
        return order.heads.count(slot, position)

    def _has_room(self, first: int, last: int, nodes: int) -> bool:
        return last - first + 1 >= nodes and self._order.room(first, last, nodes, 1) == 1

    # -- keeping up ----------------------------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Look again at the neighbourhood of every change."""
        order = self._order
        changes, order.changed = order.changed, []
        touched = sum(last - first + 1 for first, last in changes)
        if self._is_new or touched >= order.size:
            self._is_new = False
            self._rooms.clear()
            self._slots.clear()
            self._by_price.clear()
            self._look_at_gaps(0, order.size - 1)
            return
        for first, last in _merged(changes):
            over = order.ring_over(first)
            self._look_again(first if over is None else over.first, last)

    def _look_again(self, first: int, last: int) -> None:
        """Look at a stretch that changed; where it begins inside a ring, the ring belongs to it."""
        for position in range(first, last + 2):
            self._forget(self._order.wrap(position))
        self._look_at_gaps(first, last)
        self._cheapen_before(first)

    def _look_at_gaps(self, first: int, last: int) -> None:
        """Look at every gap that touches the stretch [first, last]."""
        order = self._order
        if not order.rings:
            self._rooms.clear()
            return
        start = order.gap_before(first)
        turn = start + order.size
        while start <= last + 1 and start < turn and (order.closed or start <= order.size):
            after = order.ring_from(start)
            end = after.first - 1 if after is not None else order.gap_end(start)
            slot = order.wrap(start)
            self._forget(slot)
            for nodes, starts in self._rooms.items():
                if self._has_room(start, end, nodes):
                    insort(starts, slot)
            if after is None:
                break
            if self._has_idle(start, after.last):
                self._lower(slot, after.ring.job, 1)
            start = after.last + 1

    def _cheapen_before(self, first: int) -> None:
        """Lower the prices of the slots before a change: zones that reach it are no longer known."""
        order = self._order
        nearest = order.ring_before(first)
        position = first
        while nearest is not None and (idle := order.idle.previous(position - 1)) is not None:
            following = order.ring_over(idle) or order.ring_from(idle)
            if following is None or idle <= first - order.size:
                return
            position = order.gap_before(following.first)
            passed = order.heads.count(following.first, first - 1) if following.first < first else 0
            if passed:
                if passed > self._reach or following.ring.job != nearest.ring.job:
                    return
                known = self._slots.get(order.wrap(position))
                if known is None or max(known.price, known.moved + 1) > passed:
                    self._lower(order.wrap(position), following.ring.job, passed)

    def _has_idle(self, first: int, last: int) -> bool:
        idle = self._order.idle.next(first)
        return idle is not None and idle <= last

    def _forget(self, place: int) -> None:
        """No gap begins at a place any more, for all we know."""
        self._drop(place)
        for starts in self._rooms.values():
            index = bisect_left(starts, place)
            if index < len(starts) and starts[index] == place:
                del starts[index]

    def _drop(self, slot: int) -> None:
        known = self._slots.pop(slot, None)
        if known is not None:
            prices = self._by_price[known.job]
            prices[known.price].discard(slot)
            if not prices[known.price]:
                del prices[known.price]
            if not prices:
                del self._by_price[known.job]

    def _lower(self, slot: int, job: str, price: int) -> None:
        """What is known of a slot is void; a zone from there may gain something for this price."""
        known = self._slots.get(slot)
        self._set(slot, _Slot(job, price if known is None else min(known.price, price)))

    def _set(self, slot: int, known: _Slot) -> None:
        self._reach = max(self._reach, known.price, known.moved)
        self._drop(slot)
        if known.price <= FAR:
            self._slots[slot] = known
            self._by_price.setdefault(known.job, {}).setdefault(known.price, set()).add(slot)


def _merged(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches that touch or overlap as one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(changes):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
