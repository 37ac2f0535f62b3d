"""What an agent needs of the hardware it serves, as two interfaces and their records.

`CircuitDriver` switches and reads the bundles of one node; `GpuHealth` reports its GPUs. A backend implements both or
either. Rules for every backend:

- Opening, reading and closing change no circuit. Opening may write what makes modules work at all, such as leaving low
  power; reading and closing write nothing.
- What `switch` returns was read back from the hardware after the write, never assumed.
- An iterator of events ends only when the hardware is gone; it raises `UnavailableError` then.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ringlight.fabric.circuits import CircuitTable, Fault, Path, PortKey
from ringlight.fabric.circuits import OpticalPower as OpticalPower  # noqa: PLC0414 - part of what a driver answers
from ringlight.fabric.inventory import Inventory
from ringlight.fabric.metric_family import Family, Kind, Label


@dataclass(frozen=True, slots=True)
class HardwareIdentity:
    """Who the hardware is.

    Attributes:
        fabric: name of the fabric it was cabled for.
        boot: changes when the node lost power.
        inventory: parts and cabling.
    """

    fabric: str
    boot: str
    inventory: Inventory


@dataclass(frozen=True, slots=True)
class Readout:
    """One reading of the bundles of a node: what each selects, where light arrives, which modules are broken."""

    circuits: CircuitTable
    light: Mapping[PortKey, bool]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class SwitchOutcome:
    """What a bundle selects after a switch command, as read back, and how long the optics took (seconds)."""

    path: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value for the agent's own metrics page, in base units.

    Attributes:
        family: name of a `MetricFamily` that the backend's module declares in `FAMILIES`.
        labels: all labels of the family but the node's name.
    """

    family: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """What a backend says of a family that it measures: `kind` is ``gauge`` or ``counter``, `labels` in fixed order."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...]

    @property
    def shown(self) -> Family:
        """The family as the metrics page shows it."""
        return Family(self.name, Kind(self.kind), self.text, tuple(map(Label, ("node", *self.labels))))


@dataclass(frozen=True, slots=True)
class LightChanged:
    """Light came or went at a port."""

    port: PortKey
    lit: bool


@dataclass(frozen=True, slots=True)
class FaultOpened:
    """A part broke."""

    fault: Fault


@dataclass(frozen=True, slots=True)
class FaultClosed:
    """A part works again."""

    fault_id: str


DriverEvent = LightChanged | FaultOpened | FaultClosed
HealthEvent = FaultOpened | FaultClosed


class CircuitDriver(Protocol):
    """Drives the bundles of one node."""

    async def open(self) -> HardwareIdentity:
        """Connect and identify.

        Raises:
            UnavailableError: the hardware does not answer.
        """

    async def read(self) -> Readout:
        """Read everything from the hardware now.

        Raises:
            UnavailableError: the hardware does not answer.
        """

    async def switch(self, bundle: int, path: Path) -> SwitchOutcome:
        """Select a path on one bundle and read back what it selects. May be called for several bundles at once.

        Raises:
            UnavailableError: the hardware does not answer; what the bundle selects is unknown until read.
        """

    async def powers(self) -> Mapping[PortKey, OpticalPower]:
        """Measure the light at every port that is selected now; ports of hardware that measures nothing are left out.

        Raises:
            UnavailableError: the hardware does not answer.
        """

    def measurements(self) -> Sequence[Measurement]:
        """What was last measured of the hardware, for the agent's metrics page. Touches no hardware."""

    def events(self) -> AsyncIterator[DriverEvent]:
        """Changes of light and of module faults, from `open` on, in the order they happened."""

    async def close(self) -> None:
        """Let go of the hardware, leaving every bundle as it is."""


class GpuHealth(Protocol):
    """Reports the GPUs of one node."""

    async def open(self) -> None:
        """Connect.

        Raises:
            UnavailableError: the source of health does not answer.
        """

    async def read(self) -> tuple[Fault, ...]:
        """Every fault that is open now."""

    def measurements(self) -> Sequence[Measurement]:
        """What was last measured of the GPUs, for the agent's metrics page. Touches no hardware."""

    def events(self) -> AsyncIterator[HealthEvent]:
        """Faults that open and close, from `open` on."""

    async def close(self) -> None:
        """Let go of the source."""
