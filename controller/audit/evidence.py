"""What the light of all rounds so far says: for every port, which far ends are still possible.

The far end of a port was selected whenever light was at the port, and was not whenever it was dark while the port
itself was selected. Each round strikes out whatever contradicts that. A port of which nobody knows whether it was
selected in a round cannot be struck out by it, and is *doubtful* from then on.

Nothing here knows how rounds are chosen: a port that selected something else than it was told is a fact like any other,
as long as it was read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ringlight.fabric.circuits import EXTERNAL_PATHS, OpticalPower
from ringlight.fabric.spec import Port


class Evidence:
    """The light of one audit.

    Args:
        ports: every port that may be lit.

    Attributes:
        powers: of ports, measured the first time they were lit.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self.powers: dict[Port, OpticalPower] = {}
        self._ports = tuple(sorted(ports))
        self._index = {port: index for index, port in enumerate(self._ports)}
        every = (1 << len(self._ports)) - 1
        self._possible = {port: every & ~self._of_bundle(port) for port in self._ports}
        self._lit: set[Port] = set()
        self._doubtful = 0

    def take(self, selected: Collection[Port], lit: Collection[Port], unknown: Iterable[Port] = ()) -> None:
        """Take a round in.

        Args:
            selected: ports that were selected, by what was read.
            lit: those of them at which light was.
            unknown: ports of which nobody knows whether they were selected.
        """
        sure = self._mask(selected)
        doubtful = self._mask(unknown)
        perhaps = sure | doubtful
        self._doubtful |= doubtful
        for port in selected:
            if port in lit:
                self._lit.add(port)
                self._possible[port] &= perhaps
            else:
                self._possible[port] &= ~sure

    def measure(self, powers: Mapping[Port, OpticalPower]) -> None:
        """Keep what was measured, of ports that had no light in an earlier round."""
        for port, power in powers.items():
            self.powers.setdefault(port, power)

    def was_lit(self, port: Port) -> bool:
        """Whether light was ever at a port."""
        return port in self._lit

    def far_ends(self, port: Port) -> tuple[Port, ...]:
        """The far ends that explain the light at a port; none for a port that was always dark."""
        return self._ports_in(self._possible[port]) if port in self._lit else ()

    def sure_far_ends(self, port: Port) -> tuple[Port, ...]:
        """Those of them that are not doubtful."""
        return self._ports_in(self._possible[port] & ~self._doubtful) if port in self._lit else ()

    def _ports_in(self, mask: int) -> tuple[Port, ...]:
        found = []
        while mask:
            lowest = mask & -mask
            found.append(self._ports[lowest.bit_length() - 1])
            mask ^= lowest
        return tuple(found)

    def _mask(self, ports: Iterable[Port]) -> int:
        """Ports as one number: built by bytes, for adding up single bits of a large fabric takes too long."""
        bits = bytearray(len(self._ports) // 8 + 1)
        for port in ports:
            index = self._index[port]
            bits[index >> 3] |= 1 << (index & 7)
        return int.from_bytes(bits, "little")

    def _of_bundle(self, port: Port) -> int:
        """The ports of a port's own bundle: they are never selected together."""
        same = (Port(port.position, port.bundle, path) for path in EXTERNAL_PATHS)
        return self._mask(other for other in same if other in self._index)
