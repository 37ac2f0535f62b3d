"""One node on a matrix switch, as the agent sees any node: bundles that select paths, light at ports, faults."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from ringlight.agents.drivers.event_stream import EventStream
from ringlight.agents.drivers.polatis import metrics
from ringlight.agents.drivers.polatis.live import LiveSwitch
from ringlight.agents.drivers.polatis.readings import powers_of
from ringlight.agents.drivers.polatis.shared import SharedSwitch
from ringlight.agents.ports import DriverEvent, HardwareIdentity, Measurement, OpticalPower, Readout, SwitchOutcome
from ringlight.fabric.circuits import Path, PortKey
from ringlight.fabric.errors import InvalidError, UnavailableError
from ringlight.fabric.inventory import Inventory


class PolatisDriver:
    """`CircuitDriver` of one node on a matrix switch that others share.

    Args:
        node: its name.
        fabric: name of the fabric it was cabled for.
        inventory: as the fabric file has it: a switch knows nothing of transceivers.
        switch: that it is plugged in at.
    """

    def __init__(self, node: str, fabric: str, inventory: Inventory, switch: SharedSwitch) -> None:
        self._node = node
        self._fabric = fabric
        self._inventory = inventory
        self._switch = switch
        self._live: LiveSwitch | None = None
        self._stream: EventStream | None = None

    async def open(self) -> HardwareIdentity:
        """Connect to the switch, or share the connection that there is.

        A switch does not tell when it was started, so its serial number stands for the boot.

        Raises:
            UnavailableError: it does not answer, or is not the one that is meant.
        """
        self._live = live = await self._switch.acquire()
        self._stream = live.follow(self._node)
        return HardwareIdentity(self._fabric, self._switch.serial, self._inventory)

    async def read(self) -> Readout:
        """Read everything from the switch now.

        Raises:
            UnavailableError: it does not answer.
        """
        live = self._opened()
        return live.readout(self._node, await live.read())

    async def switch(self, bundle: int, path: Path) -> SwitchOutcome:
        """Select a path on one bundle, as far as that takes no receiver from another bundle, and read it back.

        A bundle that has to wait for its neighbour, and waits in vain, has let go of what it selected before: it is
        then dark, and a fault says who was in the way.

        Raises:
            InvalidError: this path leads nowhere on the switch; nothing changed.
            UnavailableError: the switch does not answer; what the bundle selects is unknown until read.
        """
        place = (self._node, bundle)
        if self._switch.patch.peer(place, path) is None:
            raise InvalidError(f"{path.name} of {self._node}/b{bundle} leads nowhere on switch {self._switch.name}")
        return await self._opened().select(place, path)

    async def powers(self) -> Mapping[PortKey, OpticalPower]:
        """Measure the light at every port that is selected now; nothing if the switch's monitors are not used.

        Raises:
            UnavailableError: the switch does not answer.
        """
        return powers_of(self._switch.patch, self._node, await self._opened().read())

    def measurements(self) -> Sequence[Measurement]:
        """Powers as last read, and what was counted of the switch since the agent started."""
        return tuple(self._measurements())

    def events(self) -> AsyncIterator[DriverEvent]:
        """Changes of light, of failed ports, and what else opens and closes faults, from `open` on.

        Raises:
            UnavailableError: the switch is gone.
        """
        if self._stream is None:
            raise self._closed()
        return self._stream.events()

    async def close(self) -> None:
        """Let go of the switch, leaving every cross-connect as it is."""
        live, self._live = self._live, None
        stream, self._stream = self._stream, None
        if live is not None:
            if stream is not None:
                live.unfollow(stream)
            await self._switch.release(live)

    def _measurements(self) -> Iterator[Measurement]:
        name, tally = self._switch.name, self._switch.tally
        labels = {"switch": name}
        for family, value in (
            (metrics.MOVES, tally.moves[self._node]),
            (metrics.REFUSALS, tally.refused[self._node]),
            (metrics.ERRORS, tally.errors),
            (metrics.CONNECTIONS, tally.connections),
        ):
            yield Measurement(family, labels, float(value))
        if self._node in tally.move_seconds:
            yield Measurement(metrics.MOVE_SECONDS, labels, tally.move_seconds[self._node])
        powers = self._live.reading.powers if self._live is not None else {}
        for place in self._switch.patch.of_node(self._node) if powers else ():
            plugs = self._switch.patch.plugs[place]
            for side, ports in (("ingress", plugs.ingresses), ("egress", plugs.egresses)):
                for port in ports:
                    power = powers.get(port)
                    if power is not None and power != float("-inf"):
                        at = {"bundle": f"b{place[1]}", "side": side, "port": str(port)}
                        yield Measurement(metrics.POWER, labels | at, power)

    def _opened(self) -> LiveSwitch:
        if self._live is None:
            raise self._closed()
        return self._live

    def _closed(self) -> UnavailableError:
        return UnavailableError(f"the switch of {self._node} is not open")
