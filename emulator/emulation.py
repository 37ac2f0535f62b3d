"""One running emulation: the plant, the socket in front of it and the agents on it, broken and repaired together.

Every fault goes through here, whoever asks for it, so that hardware, connections and agents always follow the same
set of open faults.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from ringlight.emulator.faults import EmulatedFault, FaultKind, FaultRequest
from ringlight.emulator.fibre_plant import FibrePlant
from ringlight.emulator.plant import PlantEvent
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.trace import Trace

Publish = Callable[[Iterable[PlantEvent]], None]
_AGENT_KINDS = (FaultKind.AGENT_CRASH, FaultKind.AGENT_HANG)


class AgentFollower(Protocol):
    """Whoever runs the agents of the emulated nodes."""

    async def follow(self, position: int) -> None:
        """Bring the agent of a node in line with the faults that are open now."""


class Emulation:
    """The emulated fabric as a whole.

    Args:
        plant: the parts.
        publish: tells whoever is connected to them what happened.
        agents: runs the agents; None when they are somebody else's processes.
    """

    def __init__(self, plant: FibrePlant, publish: Publish, agents: AgentFollower | None) -> None:
        self.plant = plant
        self._publish = publish
        self._agents = agents

    async def inject(self, request: FaultRequest) -> EmulatedFault:
        """Break something; returns once hardware and agent are in the broken state.

        Raises:
            NotFoundError: the fabric has no such node.
            InvalidError: the node has no such part, a value is out of range, or no agents are hosted here.
            ConflictError: a fault of this id is open already.
        """
        if request.kind in _AGENT_KINDS and self._agents is None:
            raise InvalidError(
                "this emulator hosts no agents, so it cannot break one",
                hint="stop the agent's own process, or run the emulator with agents",
            )
        fault, events = self.plant.inject(request)
        self._publish(events)
        await self._follow([fault])
        return fault

    async def repair(self, fault_ids: Iterable[str]) -> list[EmulatedFault]:
        """Repair these faults, in this order; returns once hardware and agents follow.

        Raises:
            NotFoundError: one of them is not open; those before it are repaired.
        """
        repaired: list[EmulatedFault] = []
        try:
            for fault_id in fault_ids:
                fault, events = self.plant.repair(fault_id)
                repaired.append(fault)
                self._publish(events)
        finally:
            await self._follow(repaired)
        return repaired

    async def repair_node(self, node: str) -> list[EmulatedFault]:
        """Repair every fault of a node; fibre cuts belong to the lower end of their hop.

        Raises:
            NotFoundError: the fabric has no such node.
        """
        position = self.plant.wiring.position(node)
        return await self.repair([fault.id for fault in self.plant.faults.of_node(position)])

    async def repair_all(self) -> list[EmulatedFault]:
        """Repair every fault of the fabric."""
        return await self.repair([fault.id for fault in self.plant.faults.all()])

    def trace(self) -> Trace:
        """The GPU cycles and dangling chains that light and copper form at this moment."""
        return self.plant.trace()

    async def _follow(self, faults: Iterable[EmulatedFault]) -> None:
        if self._agents is not None:
            for position in sorted({fault.position for fault in faults}):
                await self._agents.follow(position)
