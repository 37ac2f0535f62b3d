"""What a bundle selects on a matrix switch, and which cross-connects may be moved so that it selects something else.

A switch knows cross-connects, not bundles, so the two rules that make it behave as transceivers with a switch inside
do are laid down here:

- A bundle's *selection* is where its own light goes: its ingresses decide. Its own egresses make it `LOOPBACK`, those
  of a neighbour a path, nothing `DARK`, and whatever else `UNKNOWN`. A hop is lit when both ends select it.
- A bundle's egresses are its receiver. Only its own selection says whose light may arrive there.

So a bundle that is told to select something may take *its own* ports from whoever has them: where its light went
before, and light that comes from where it does not listen any more. The egress of a neighbour it may only use when that
is free and the neighbour selects it too, is about to, or selects nothing. Otherwise the egress is *taken*, and nothing
is stolen: a neighbour in loopback may be the end of somebody's ring.

All bundles that are told at the same time are planned at the same time. Each first lets go of what it has, so two that
change places never wait for each other.

A switch may refuse a command as a whole because of one port in it, and then everybody's move would fail with the one
that cannot succeed. So what needs a port that is not in order is left out, and its bundle keeps what it has.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ringlight.agents.drivers.polatis.patch import Patch, Place, place_name
from ringlight.fabric.circuits import EXTERNAL_PATHS, Path

Connections = Mapping[int, int]
"""Every cross-connect of a switch, egress by ingress."""


@dataclass(slots=True)
class Moves:
    """What to do on the switch so that bundles select what they were told to.

    Attributes:
        disconnect: cross-connects to remove first, egress by ingress.
        connect: cross-connects to make then.
        taken: bundles that have to wait, and for whom.
        barred: bundles that need a port which is not in order, and which; waiting does not help them.
    """

    disconnect: dict[int, int] = field(default_factory=dict)
    connect: dict[int, int] = field(default_factory=dict)
    taken: dict[Place, str] = field(default_factory=dict)
    barred: dict[Place, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.disconnect or self.connect)


def selected(patch: Patch, place: Place, connections: Connections) -> Path:
    """What a bundle selects; modules that do not agree make it `UNKNOWN`."""
    found = {ingress: connections[ingress] for ingress in patch.plugs[place].ingresses if ingress in connections}
    if not found:
        return Path.DARK
    for path in (Path.LOOPBACK, *EXTERNAL_PATHS):
        if found == patch.outward(place, path):
            return path
    return Path.UNKNOWN


def arrives(patch: Patch, place: Place, path: Path, connections: Connections) -> bool:
    """Whether the switch brings light of a path's other end to a bundle, on all its modules."""
    inward = patch.inward(place, path)
    return bool(inward) and all(connections.get(ingress) == egress for ingress, egress in inward.items())


def plan_moves(
    patch: Patch, connections: Connections, wanted: Mapping[Place, Path], *, unusable: Collection[int] = ()
) -> Moves:
    """What brings bundles to what they are wanted to select, as far as that is possible now.

    Args:
        patch: of the switch.
        connections: as the switch has them now.
        wanted: `LOOPBACK`, or a path that leads somewhere, for each bundle that is to be moved.
        unusable: ports that are not in order.
    """
    moves = Moves(barred=_barred(patch, connections, wanted, unusable))
    movable = {place: wanted[place] for place in sorted(wanted.keys() - moves.barred.keys())}
    after = dict(connections)
    for place, path in movable.items():
        for ingress in _in_the_way(patch, place, path, after):
            moves.disconnect[ingress] = after.pop(ingress)
    let_go = dict(after)
    for place, path in movable.items():
        missing = {i: e for i, e in patch.outward(place, path).items() if after.get(i) != e}
        why = _why_taken(patch, place, let_go, after, movable) if missing else ""
        if why:
            moves.taken[place] = why
        else:
            moves.connect |= missing
            after |= missing
    return moves


def _barred(
    patch: Patch, connections: Connections, wanted: Mapping[Place, Path], unusable: Collection[int]
) -> dict[Place, str]:
    """The bundles that need a new cross-connect on a port that is not in order."""
    barred = {}
    for place, path in wanted.items():
        missing = {i: e for i, e in patch.outward(place, path).items() if connections.get(i) != e}
        broken = sorted({*missing, *missing.values()}.intersection(unusable))
        if broken:
            barred[place] = f"port {', '.join(map(str, broken))} of the switch is not in order"
    return barred


def _in_the_way(patch: Patch, place: Place, path: Path, connections: Connections) -> list[int]:
    """The ingresses of cross-connects on a bundle's own ports that do not belong to a path."""
    belonging = {**patch.outward(place, path), **patch.inward(place, path)}
    own = patch.plugs[place]
    return [
        ingress
        for ingress, egress in sorted(connections.items())
        if (ingress in own.ingresses or egress in own.egresses) and belonging.get(ingress) != egress
    ]


def _why_taken(
    patch: Patch, place: Place, let_go: Connections, after: Connections, wanted: Mapping[Place, Path]
) -> str:
    """Why the egresses a bundle wants are not to be had; empty when they are.

    A peer that is told nothing is judged by what it selects when everybody has let go of what was in the way; what was
    promised to others since stands in `after`.
    """
    ends = set(patch.outward(place, wanted[place]).values())
    peer = patch.egresses[min(ends)]
    selects = wanted.get(peer) or selected(patch, peer, let_go)
    listens = peer == place or selects is Path.DARK or patch.peer(peer, selects) == place
    if not listens:
        return f"{place_name(peer)} selects {selects.name}, and its receiver is its own"
    for ingress, egress in sorted(after.items()):
        if egress in ends and patch.ingresses.get(ingress) != place:
            holder = patch.ingresses.get(ingress)
            whose = place_name(holder) if holder is not None else "none of the table"
            return f"egress {egress} of {place_name(peer)} is taken by ingress {ingress}, which is of {whose}"
    return ""
