"""What both fidelities of the emulated hardware are to the rest of the emulator.

`plant.Plant` knows bundles, and is fast; `register_plant.RegisterPlant` knows modules down to their registers. Both are
state without a clock of their own, and return the events that a change causes.
"""

from typing import Protocol

from ringlight.emulator.faults import EmulatedFault, FaultBook, FaultRequest
from ringlight.emulator.plant import NodeReading, PlantEvent
from ringlight.fabric.circuits import CircuitTable, Path, PortKey
from ringlight.fabric.trace import Trace
from ringlight.fabric.wiring import Wiring


class FibrePlant(Protocol):
    """Every part of one emulated fabric."""

    wiring: Wiring
    faults: FaultBook

    def powered(self, position: int) -> bool:
        """Whether a node has power."""

    def boot_id(self, position: int) -> str:
        """The hardware boot id of a node: another one after each loss of power."""

    def table(self, position: int) -> CircuitTable:
        """What the bundles of a node select."""

    def read(self, position: int) -> NodeReading:
        """Everything that the hardware of a node tells over the hardware socket.

        Raises:
            UnavailableError: the node has no power.
        """

    def powers(self, position: int) -> dict[PortKey, tuple[float, float]]:
        """What leaves and what arrives at the ports that a node selects, in dBm.

        Raises:
            UnavailableError: the node has no power.
            ConflictError: powers are to be had from its modules.
        """

    def check_switch(self, position: int, bundle: int, path: Path) -> None:
        """Refuse a switch command that no hardware would accept.

        Raises:
            InvalidError: no such bundle, or not a path that can be selected.
            UnavailableError: the node has no power.
            ConflictError: bundles are switched by their modules.
        """

    def delay(self, position: int, bundle: int) -> float:
        """Seconds that faults add to a switch of this bundle."""

    def select(self, position: int, bundle: int, path: Path) -> list[PlantEvent]:
        """Let a bundle select a path, now; raises as `check_switch`."""

    def inject(self, request: FaultRequest) -> tuple[EmulatedFault, list[PlantEvent]]:
        """Break something."""

    def repair(self, fault_id: str) -> tuple[EmulatedFault, list[PlantEvent]]:
        """Repair one fault."""

    def trace(self) -> Trace:
        """The GPU cycles and dangling chains that light and copper form at this moment."""
