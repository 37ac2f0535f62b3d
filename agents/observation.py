"""What is known of a node's hardware: the last reading, brought up to date by what the hardware reports.

Invariants: news is never lost and never undone by a reading that began before it. Whatever news has not arrived yet
will still arrive, so where both speak of the same thing during one reading, the news stands. One reading at a time.
"""

from collections.abc import Collection
from typing import TypeVar

from ringlight.agents.ports import DriverEvent, FaultClosed, FaultOpened, HealthEvent, LightChanged, Readout
from ringlight.fabric.circuits import CircuitTable, Fault, PortKey

_Key = TypeVar("_Key", PortKey, str)
_Value = TypeVar("_Value", bool, Fault)


class Observation:
    """The state of one node as far as it was seen.

    Attributes:
        circuits: as last read.
        light: by port.
        faults: open faults by id, of modules and GPUs.
    """

    def __init__(self) -> None:
        self.circuits: CircuitTable = ()
        self.light: dict[PortKey, bool] = {}
        self.faults: dict[str, Fault] = {}
        self._news_of_light: set[PortKey] = set()
        self._news_of_faults: set[str] = set()

    def begin_reading(self) -> None:
        """The hardware is about to be read: what is noticed from now on is later than what the reading may say."""
        self._news_of_light.clear()
        self._news_of_faults.clear()

    def take(self, readout: Readout, gpu_faults: Collection[Fault] | None = None) -> list[PortKey]:
        """Take over a reading; the faults only when the GPUs were read too. Returns the ports whose light differs."""
        self.circuits = readout.circuits
        former = self.light
        self.light = _merged(former, dict(readout.light), self._news_of_light)
        if gpu_faults is not None:
            read = {fault.id: fault for fault in (*readout.faults, *gpu_faults)}
            self.faults = _merged(self.faults, read, self._news_of_faults)
        return sorted(port for port, lit in self.light.items() if former.get(port) != lit)

    def notice(self, event: DriverEvent | HealthEvent) -> bool:
        """Take over news. Returns whether it says anything that was not known."""
        match event:
            case LightChanged():
                self._news_of_light.add(event.port)
                known = self.light.get(event.port) == event.lit
                self.light[event.port] = event.lit
            case FaultOpened():
                self._news_of_faults.add(event.fault.id)
                known = self.faults.get(event.fault.id) == event.fault
                self.faults[event.fault.id] = event.fault
            case FaultClosed():
                self._news_of_faults.add(event.fault_id)
                known = self.faults.pop(event.fault_id, None) is None
        return not known


def _merged(known: dict[_Key, _Value], read: dict[_Key, _Value], news: set[_Key]) -> dict[_Key, _Value]:
    """What was read, but for that which changed meanwhile."""
    merged = {key: value for key, value in read.items() if key not in news}
    merged.update((key, known[key]) for key in news if key in known)
    return merged
