"""Where the rings of a new job go when racks do not matter: spread, so that a later fault finds a spare nearby.

Rings are laid from left to right with up to one spare node a ring left between them instead of heaped at the end. Never
at the cost of a ring; and what is left beyond that stays in one piece, so that the next job finds room.
"""

from collections.abc import Sequence

from ringlight.controller.planning.strip import Strip


def spread(strips: Sequence[Strip], nodes: int, count: int) -> tuple[tuple[int, ...], ...]:
    """`count` chains (unrolled) over strips that have room for them, with spares left evenly between."""
    usable = sum(strip.usable_in(strip.first, strip.last) for strip in strips)
    spares = min(usable - count * nodes, count)
    ends = [strip.ends(nodes) for strip in strips]
    rooms = [_rooms(strip, of_strip) for strip, of_strip in zip(strips, ends, strict=True)]
    room_later = sum(of_strip[0] for of_strip in rooms)
    chains: list[tuple[int, ...]] = []
    passed = 0  # usable nodes left out so far
    for strip, end_from, room_from in zip(strips, ends, rooms, strict=True):
        room_later -= room_from[0]
        position = strip.first
        while position <= strip.last and len(chains) < count:
            place = position - strip.first
            end = end_from[place]
            due = spares * (2 * len(chains) + 1) // (2 * count)
            missing = count - len(chains) - room_later
            if end is None or (passed < due and room_from[place + 1] >= missing):
                passed += strip.is_usable(position)
                position += 1
            else:
                chains.append(strip.chain_to(end, nodes))
                passed += strip.usable_in(position, end) - nodes
                position = end + 1
    return tuple(chains)


def _rooms(strip: Strip, ends: Sequence[int | None]) -> list[int]:
    """By place: how many rings fit from there on; one entry more for the end, which is 0."""
    rooms = [0] * (len(ends) + 1)
    for place in range(len(ends) - 1, -1, -1):
        end = ends[place]
        if end is not None:
            rooms[place] = 1 + rooms[end + 1 - strip.first]
    return rooms
