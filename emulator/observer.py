"""Watches a fabric from outside, as a scheduler would: follows its events and waits for conditions, never for time.

Also compares what light really does (the emulator's trace) with what the controller says it does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import grpc.aio

from ringlight.fabric.errors import ErrorCode, RinglightError
from ringlight.fabric.trace import canonical_cycle
from ringlight.protos.status import error_of
from ringlight.protos.v1 import emulator_pb2, emulator_pb2_grpc, fabric_pb2, fabric_pb2_grpc

_PATIENCE = 30.0  # seconds a call waits for the other side, which may be restarting


class NotInTimeError(RinglightError):
    """Something that was waited for did not happen."""

    code = ErrorCode.UNAVAILABLE


class Observer:
    """One fabric seen from outside.

    Attributes:
        fabric: the controller's northbound service.
        emulator: the emulator's control service.
        events: every event since the watch began, in order.
    """

    def __init__(
        self, fabric: "fabric_pb2_grpc.FabricServiceAsyncStub", emulator: "emulator_pb2_grpc.EmulatorServiceAsyncStub"
    ) -> None:
        self.fabric = fabric
        self.emulator = emulator
        self.events: list[fabric_pb2.Event] = []
        self.on_event: list[Callable[[fabric_pb2.Event], None]] = []
        self._news = asyncio.Condition()
        self._blind: RinglightError | None = None

    async def follow(self) -> None:
        """Follow the controller's events, over its restarts, until cancelled."""
        while True:
            try:
                async for reply in self.fabric.Watch(
                    fabric_pb2.WatchRequest(after=self.last_sequence), wait_for_ready=True
                ):
                    if reply.HasField("event"):
                        await self._take(reply.event)
            except grpc.aio.AioRpcError as error:
                trouble = error_of(error, peer="the controller")
                if trouble.code is not ErrorCode.UNAVAILABLE:
                    await self._give_up(trouble)
                    return

    async def _give_up(self, trouble: RinglightError) -> None:
        """Let everyone who waits know that no event will come any more."""
        self._blind = trouble
        async with self._news:
            self._news.notify_all()

    async def _take(self, event: fabric_pb2.Event) -> None:
        self.events.append(event)
        for callback in self.on_event:
            callback(event)
        async with self._news:
            self._news.notify_all()

    @property
    def last_sequence(self) -> int:
        """Of the newest event seen."""
        return self.events[-1].sequence if self.events else 0

    async def until(
        self, condition: Callable[[fabric_pb2.Event], bool], *, after: int = 0, seconds: float = 20.0
    ) -> fabric_pb2.Event:
        """The first event above sequence number `after` that meets the condition, waited for if need be.

        Raises:
            NotInTimeError: it did not come within `seconds`.
            RinglightError: the controller refused to be watched.
        """
        seen = 0
        try:
            async with asyncio.timeout(seconds), self._news:
                while True:
                    for event in self.events[seen:]:
                        if event.sequence > after and condition(event):
                            return event
                    seen = len(self.events)
                    if self._blind is not None:
                        raise self._blind
                    await self._news.wait()
        except TimeoutError:
            raise NotInTimeError(
                f"an event that was waited for did not come within {seconds:g} s", hint="see the controller's log"
            ) from None

    async def settled(self, *, seconds: float = 20.0) -> fabric_pb2.Fabric:
        """The fabric at the first moment when nothing is in flight.

        Raises:
            NotInTimeError: it did not settle within `seconds`.
        """
        while True:
            fabric = await self.fabric.GetFabric(fabric_pb2.GetFabricRequest(), wait_for_ready=True, timeout=_PATIENCE)
            await self.reached(fabric.last_event + (not fabric.settled), seconds=seconds)
            if fabric.settled:
                return fabric

    async def reached(self, sequence: int, *, seconds: float = 20.0) -> None:
        """Wait until the event of this sequence number, or a later one, was seen.

        Raises:
            NotInTimeError: it did not come within `seconds`.
        """
        if sequence > self.last_sequence:
            await self.until(lambda event: event.sequence >= sequence, seconds=seconds)

    async def all_connected(self, nodes: int, *, seconds: float = 60.0) -> None:
        """Wait until no node is unknown any more.

        Raises:
            NotInTimeError: some agents did not dial in.
        """
        while True:
            fabric = await self.fabric.GetFabric(fabric_pb2.GetFabricRequest(), wait_for_ready=True, timeout=_PATIENCE)
            if fabric.verdicts["HEALTHY"] == nodes:
                return
            await self.reached(fabric.last_event + 1, seconds=seconds)

    async def rings(self) -> list[fabric_pb2.Ring]:
        """Every ring, by job and rank."""
        return list(
            (await self.fabric.ListRings(fabric_pb2.ListRingsRequest(), wait_for_ready=True, timeout=_PATIENCE)).rings
        )

    async def compare(self) -> "Comparison":
        """Light against plan at a quiet moment: nothing was in flight before, between and after the two readings."""
        while True:
            before = await self.settled()
            trace = await self.emulator.Trace(emulator_pb2.TraceRequest(), wait_for_ready=True, timeout=_PATIENCE)
            rings = await self.rings()
            after = await self.fabric.GetFabric(fabric_pb2.GetFabricRequest(), wait_for_ready=True, timeout=_PATIENCE)
            if after.settled and after.generation == before.generation:
                return Comparison(trace, rings)


class Comparison:
    """What light does beside what the controller says, at one moment.

    A lit ring is a cycle over more than one node, or one that an ACTIVE ring claims. Cycles are compared GPU for GPU,
    from any beginning and in either direction.

    Attributes:
        rings: as the controller listed them.
        lit: the lit rings.
        planned: the rings said to be ACTIVE.
    """

    def __init__(self, trace: emulator_pb2.TraceReply, rings: list[fabric_pb2.Ring]) -> None:
        self.rings = rings
        self.planned = {canonical_cycle(tuple(ring.gpus)) for ring in rings if ring.state == "ACTIVE"}
        cycles = {canonical_cycle(tuple(cycle.gpus)) for cycle in trace.cycles}
        self.lit = {c for c in cycles if c in self.planned or len({gpu.partition("/")[0] for gpu in c}) > 1}

    @property
    def equal(self) -> bool:
        """Whether light and plan agree."""
        return self.lit == self.planned


@asynccontextmanager
async def observe(controller: str, emulator: str) -> AsyncIterator[Observer]:
    """Observe a running fabric until the block ends.

    Raises:
        RinglightError: a call in the block failed; what it was answered.
    """
    async with grpc.aio.insecure_channel(controller) as north, grpc.aio.insecure_channel(emulator) as control:
        observer = Observer(
            fabric_pb2_grpc.FabricServiceStub(north),
            emulator_pb2_grpc.EmulatorServiceStub(control),
        )
        following = asyncio.create_task(observer.follow(), name="observer")
        try:
            yield observer
        except grpc.aio.AioRpcError as error:
            raise error_of(error, peer="the fabric's processes") from error
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
