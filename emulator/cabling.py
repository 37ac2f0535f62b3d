"""How the fabric is really cabled: which port is joined to which, and what the fibre between them takes from the light.

The fabric file says how the fibres should lie. Here they lie so too, but for what is broken now: fibres whose ends
were exchanged, that are cut, or that are dirty. A fibre keeps its name whatever becomes of its far end: it is the one
that is plugged in where the hop of that name begins.

Exchanges are applied one after another, in the order in which they were injected. So two that share a hop make a
rotation, and repairing one leaves what the others alone would have done. There is no light here: what ports send and
what they see is for the fibre plant to say.
"""

from dataclasses import dataclass

from ringlight.emulator.faults import FaultBook, FaultKind
from ringlight.fabric.spec import Fibre, Port
from ringlight.fabric.wiring import HopKey, Wiring

CLEAN_LOSS = 0.5  # dB that a clean fibre with its two connectors takes


@dataclass(frozen=True, slots=True)
class LaidFibre:
    """A fibre as it lies.

    Attributes:
        key: the hop that it was meant for; where `low` is plugged in.
        low: the end at which that hop begins.
        high: wherever the other end is plugged in.
    """

    key: HopKey
    low: Port
    high: Port


class Cabling:
    """The fibres of one fabric as they lie.

    Args:
        wiring: the cabling as it should be.
        faults: what is broken. Whoever changes the exchanges in it must call `recable`.
    """

    def __init__(self, wiring: Wiring, faults: FaultBook) -> None:
        self._wiring = wiring
        self._faults = faults
        self._at: dict[Port, LaidFibre] = {}
        self.recable()

    def at(self, port: Port) -> LaidFibre | None:
        """The fibre that is plugged in at a port."""
        return self._at.get(port)

    def far(self, port: Port) -> Port | None:
        """The port at the other end of the fibre at a port."""
        fibre = self._at.get(port)
        if fibre is None:
            return None
        return fibre.high if fibre.low == port else fibre.low

    def is_whole(self, fibre: LaidFibre) -> bool:
        """Whether light gets through at all."""
        return not self._faults.has(FaultKind.FIBRE_CUT, fibre.key.position, fibre.key.distance)

    def loss(self, fibre: LaidFibre) -> float:
        """What a fibre that is whole takes from the light, in dB: its own loss and that of all the dirt on it."""
        dirt = self._faults.at(FaultKind.FIBRE_DIRTY, fibre.key.position, fibre.key.distance)
        return CLEAN_LOSS + sum(fault.loss for fault in dirt)

    def whole(self) -> list[Fibre]:
        """Every fibre that light gets through, in the order of the fabric's fibre list."""
        laid = (self._at[hop.low] for hop in self._wiring.hops)
        return [Fibre(fibre.low, fibre.high) for fibre in laid if self.is_whole(fibre)]

    def recable(self) -> list[Port]:
        """Lay the fibres by the exchanges that are open now; the ports that have another far end than before."""
        high = {hop.key: hop.high for hop in self._wiring.hops}
        for fault in self._faults.of_kind(FaultKind.FIBRE_SWAPPED):
            if fault.partner is not None:
                key = HopKey(fault.position, fault.number)
                high[key], high[fault.partner] = high[fault.partner], high[key]
        before, self._at = self._at, {}
        for hop in self._wiring.hops:
            fibre = LaidFibre(hop.key, hop.low, high[hop.key])
            self._at[fibre.low] = self._at[fibre.high] = fibre
        return sorted(port for port, fibre in self._at.items() if before.get(port) != fibre)
