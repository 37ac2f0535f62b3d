"""One module, driven: identified, brought up, looked at, switched. Nobody else touches its registers.

Flags clear when they are read, so this is the one place where they are read: `look`. Accesses of one kind follow each
other without another's in between: a look never sees half a switch of ours.

What is remembered of a module is who it is, never what it selects.
"""

import asyncio
import logging
from dataclasses import dataclass

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import PLAIN_ACCESS, ModuleMemory, answered
from ringlight.agents.drivers.cmis.bring_up import Condition, ModuleState, Progress, next_step
from ringlight.agents.drivers.cmis.identity import (
    KnownPart,
    ModuleIdentity,
    check_kind,
    identify,
    looks_ready,
)
from ringlight.agents.drivers.cmis.registers import LANES, Field
from ringlight.agents.drivers.cmis.switching import PATIENCE, Switch, SwitchState, switch_of
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError, Trouble
from ringlight.fabric.circuits import Path

_log = logging.getLogger(__name__)

_BOOT = 2.5  # seconds that a module may need from power until it answers anything sensible
_POLL = 0.02  # seconds between looks while a module comes up
TOKEN_LENGTH = 8
# Only what is worth being woken for interrupts: outputs that came or went, the switch, the temperature, the state.
_LANE_MASKS, _LANE_MASKS_VALUE = 213, bytes([0xFF] * 19 + [0x00])
_MODULE_MASKS, _MODULE_MASKS_VALUE = 31, bytes((0xFE, 0xFE, 0xFF, 0xFF, 0xFF, 0xFE))


@dataclass(frozen=True, slots=True)
class Look:
    """What was read of a module at one moment.

    Attributes:
        switch: what its switch says.
        receiving: lanes whose output to the host is worth anything, one bit each.
        is_ready: whether the module is.
        hot: whether its temperature is, or was since the last look, above its alarm limit.
    """

    switch: SwitchState
    receiving: int
    is_ready: bool
    hot: bool


@dataclass(frozen=True, slots=True)
class Monitors:
    """What a module measures.

    Attributes:
        temperature: degrees Celsius.
        supply: volts.
        sent, received: dBm by lane, at the laser and at the receiver; -inf for none.
        bias: milliamperes by lane.
    """

    temperature: float
    supply: float
    sent: tuple[float, ...]
    received: tuple[float, ...]
    bias: tuple[float, ...]


class DrivenModule:
    """One module.

    Args:
        name: of the module in its node: ``b0.m1``.
        memory: its registers.
        profile: of its switch, or ``auto``.
        known: modules that may be written to.

    Attributes:
        identity: who it is, while it is up.
    """

    def __init__(self, name: str, memory: ModuleMemory, profile: str, known: tuple[KnownPart, ...]) -> None:
        self.name = name
        self.identity: ModuleIdentity | None = None
        self._memory = memory
        self._profile = profile
        self._known = known
        self._turn = asyncio.Lock()
        self._switch: Switch | None = None

    async def start(self) -> bytes:
        """Find out who it is and bring it up. Its switch stays as it is.

        Returns:
            The token that a host left in it.

        Raises:
            ModuleTroubleError: it is not there, foreign, or does not come up.
            UnavailableError: there is no way to it.
        """
        self.identity = self._switch = None
        async with self._turn:
            try:
                await self._memory.open()
                identity = await self._identify()
                await self._bring_up(identity)
                self._switch = await switch_of(self._memory, identity, self._profile)
                await self._write(reg.LANE_CONTROL, _LANE_MASKS, _LANE_MASKS_VALUE)
                await self._write(0, _MODULE_MASKS, _MODULE_MASKS_VALUE)
                token = await self._read(reg.DIAGNOSTICS, reg.SCRATCHPAD.byte, TOKEN_LENGTH)
            except NotAcknowledgedError:
                raise _silent() from None
        self.identity = identity
        return token

    async def leave_token(self, token: bytes) -> None:
        """Leave a token that it forgets when it loses power; raises as `look`."""
        async with self._turn:
            try:
                await self._write(reg.DIAGNOSTICS, reg.SCRATCHPAD.byte, token)
            except NotAcknowledgedError:
                raise _silent() from None

    async def token(self) -> bytes:
        """The token that is in it now; raises as `look`."""
        async with self._turn:
            try:
                return await self._read(reg.DIAGNOSTICS, reg.SCRATCHPAD.byte, TOKEN_LENGTH)
            except NotAcknowledgedError:
                raise _silent() from None

    async def look(self) -> Look:
        """What it selects and receives now.

        Raises:
            ModuleTroubleError: it does not answer, or not as it should.
            UnavailableError: there is no way to it.
        """
        if not self._memory.is_present():
            raise ModuleTroubleError(Trouble.DEAD, "nothing is plugged in")
        async with self._turn:
            try:
                return await self._look(self._started())
            except NotAcknowledgedError:
                raise _silent() from None

    async def move(self, path: Path) -> SwitchState:
        """Bring its switch to a path; what it selects then, as read back.

        Raises:
            ModuleTroubleError: that did not succeed, or nobody knows.
            UnavailableError: there is no way to it.
        """
        async with self._turn:
            try:
                switch = self._started()
                await switch.move(path)
                return await switch.state()
            except NotAcknowledgedError:
                raise _silent() from None

    async def measure(self) -> Monitors:
        """Measure everything; raises as `look`."""
        async with self._turn:
            try:
                first = reg.TEMPERATURE.byte
                lower = await self._read(0, first, 4)
                lanes = await self._read(reg.LANE_STATUS, reg.TX_POWER.byte, 3 * 2 * LANES)
            except NotAcknowledgedError:
                raise _silent() from None

        def of(field: Field) -> tuple[float, ...]:
            at = field.byte - reg.TX_POWER.byte
            return tuple(float(value) for value in field.decode(lanes[at : at + field.length]))

        return Monitors(
            float(reg.TEMPERATURE.decode(lower[:2])[0]),
            float(reg.SUPPLY.decode(lower[2:])[0]),
            of(reg.TX_POWER),
            of(reg.RX_POWER),
            of(reg.TX_BIAS),
        )

    async def interrupted(self) -> None:
        """Wait until it asks to be looked at; for ever where that cannot be seen."""
        await self._memory.interrupted()

    async def close(self) -> None:
        """Let go of it, leaving everything as it is."""
        self.identity = self._switch = None
        await self._memory.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _identify(self) -> ModuleIdentity:
        loop = asyncio.get_running_loop()
        end = loop.time() + _BOOT
        head = b"\0\0\0"
        while not looks_ready(head):
            if loop.time() >= end:
                raise ModuleTroubleError(Trouble.DEAD, f"it answers nothing but {head.hex()} after {_BOOT:g} s")
            head = await answered(lambda: self._memory.read(0, 0, 3), end - loop.time())
            if not looks_ready(head):
                await asyncio.sleep(_POLL)
        check_kind(head)
        self._memory.limit_reads(PLAIN_ACCESS)  # until it says more: it may be another module than the last time
        pages = [await self._read(page, 128, 128) for page in (reg.ADMINISTRATIVE, reg.ADVERTISING, reg.THRESHOLDS)]
        identity = identify(await self._read(0, 0, 128), pages[0], pages[1], pages[2], self._known)
        self._memory.limit_reads(identity.read_size)
        return identity

    async def _bring_up(self, identity: ModuleIdentity) -> None:
        progress = Progress()
        loop = asyncio.get_running_loop()
        while True:
            step, progress = next_step(await self._condition(), identity, progress, loop.time())
            if step.is_up:
                return
            for write in step.writes:
                await self._write(write.page, write.byte, write.data)
            if step.writes:
                _log.info("module %s is brought up: %s", self.name, ", ".join(map(str, step.writes)))
            await asyncio.sleep(_POLL)

    async def _condition(self) -> Condition:
        lower = await self._read(0, 0, 48)
        control = await self._read(reg.LANE_CONTROL, 128, 4)
        states = await self._read(reg.LANE_STATUS, reg.DATA_PATH_STATE.byte, 4)
        configured = await self._read(reg.LANE_STATUS, reg.CONFIG_STATUS.byte, 12)
        return Condition(
            state=lower[3] >> 1 & 0x7,
            control=lower[26],
            data_paths=tuple(int(each) for each in reg.DATA_PATH_STATE.decode(states)),
            config=tuple(int(each) for each in reg.CONFIG_STATUS.decode(configured[:4])),
            deinit=control[0],
            disabled=control[2],
            active=tuple(configured[4:]),
            fault_cause=lower[41],
        )

    async def _look(self, switch: Switch) -> Look:
        lower = await self._read(0, 0, 16)  # with the module's flags, which are cleared by it
        lanes = await self._read(reg.LANE_STATUS, reg.RX_VALID.byte, 22)  # with those of the lanes
        return Look(
            switch=await switch.state(),
            receiving=lanes[0],
            is_ready=lower[3] >> 1 & 0x7 == ModuleState.READY,
            hot=bool(lower[9] & 0x01),
        )

    def _started(self) -> Switch:
        if self._switch is None:
            raise ModuleTroubleError(Trouble.DEAD, "it was not brought up")
        return self._switch

    async def _read(self, page: int, byte: int, length: int) -> bytes:
        return await answered(lambda: self._memory.read(page, byte, length), PATIENCE)

    async def _write(self, page: int, byte: int, data: bytes) -> None:
        await answered(lambda: self._memory.write(page, byte, data), PATIENCE)


def _silent() -> ModuleTroubleError:
    return ModuleTroubleError(Trouble.DEAD, "it does not answer")
