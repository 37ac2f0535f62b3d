"""Where the nodes of a fabric stand when its file gives numbers of racks and aggregation domains instead of names.

The order is *interleaved*. Node j of every rack, taken in the order of the racks, forms sub-line j; the fabric's order
is the sub-lines one after another. So position i is slot i // racks of rack i mod racks: neighbours on the order stand
in different racks, and equal offsets in different sub-lines stand in the same one.

An aggregation domain is a contiguous range of racks, the same number of them in each.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deployment:
    """Racks and aggregation domains of one fabric.

    Attributes:
        racks: how many; 0 when nothing is known of them.
        domains: how many; divides `racks`; 0 when nothing is known of them.
    """

    racks: int
    domains: int = 0

    def rack(self, position: int) -> str:
        """The rack a position stands in, ``rack3``; empty when not known."""
        return f"rack{self.rack_number(position)}" if self.racks else ""

    def domain(self, position: int) -> str:
        """The aggregation domain of a position, ``domain1``; empty when not known."""
        return f"domain{self.rack_number(position) * self.domains // self.racks}" if self.domains else ""

    def rack_number(self, position: int) -> int:
        """0..racks-1. There must be racks."""
        return position % self.racks

    def slot(self, position: int) -> int:
        """Which node of its rack a position is, from 0 on: the number of its sub-line. There must be racks."""
        return position // self.racks
