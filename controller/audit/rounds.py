"""What every bundle selects in each round of an audit, so that the light of all rounds names the far end of each port.

Light is at a port when both ends of its fibre are selected. So a round in which many bundles select something asks
every port at once: is your far end among the selected ones? Bundles are numbered, and each round asks for one binary
digit of that number:

- round A: every bundle selects PATH_1. A port PATH_1 that is lit has a far end PATH_1, one that is dark another.
- round B: the same with PATH_2.
- for each digit, two rounds: the bundles that have it set select PATH_1 and the others PATH_2, and the other way round.
  In one of the two a port is selected, and its light tells that digit of its far end, whose path is known from A or B.

Two bundles differ in some digit, so every fibre between two of them is lit at least once, and no two far ends give the
same light. That makes 2 + 2 log2(bundles) rounds: 16 for 128 bundles, 32 for 20,000. A bundle whose path in a round is
not cabled selects LOOPBACK. The two ports of one bundle are never selected together, so a fibre between them cannot be
seen at all.
"""

from collections.abc import Mapping, Sequence

from ringlight.fabric.circuits import CircuitTable, Path
from ringlight.fabric.spec import Port
from ringlight.fabric.wiring import Wiring

Tables = Mapping[int, CircuitTable]

_BOTH = (Path.PATH_1, Path.PATH_2)


def plan_rounds(wiring: Wiring, members: Sequence[int]) -> list[Tables]:
    """The tables of these positions in each round; none when their ports leave nothing to be lit."""
    cabled = {(port.position, port.bundle) for position in members for port in wiring.ports(position)}
    number = {bundle: index for index, bundle in enumerate(sorted(cabled))}
    if len(number) < 2:  # noqa: PLR2004 - a fibre has two ends
        return []
    rounds = [_tables(wiring, members, dict.fromkeys(number, path)) for path in _BOTH]
    for digit in range((len(number) - 1).bit_length()):
        for paths in (_BOTH, _BOTH[::-1]):
            wanted = {bundle: paths[index >> digit & 1] for bundle, index in number.items()}
            rounds.append(_tables(wiring, members, wanted))
    at_rest = dict.fromkeys(members, wiring.loopback)
    return [tables for tables in rounds if tables != at_rest]


def _tables(wiring: Wiring, members: Sequence[int], wanted: Mapping[tuple[int, int], Path]) -> Tables:
    return {
        position: tuple(_path(wiring, position, bundle, wanted) for bundle in range(wiring.bundles))
        for position in members
    }


def _path(wiring: Wiring, position: int, bundle: int, wanted: Mapping[tuple[int, int], Path]) -> Path:
    path = wanted.get((position, bundle), Path.LOOPBACK)
    return path if wiring.hop_at(Port(position, bundle, path)) is not None else Path.LOOPBACK
