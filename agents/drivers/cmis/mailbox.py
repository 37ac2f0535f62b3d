"""Commands to a module through its mailbox, page 9Fh.

A module may answer nobody while it executes (foreground), so silence is not held against it until it has had as long as
it says that commands may take. That a command is done is known by the flag that says so, never by a status that may be
of the one before. The flag clears when it is read, so only the owner of the module may give commands.
"""

import asyncio

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import ModuleMemory, answered
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble

_COMMAND, _HEAD, _REPLY_LENGTH, _PAYLOAD = 128, 130, 134, 136
_FLAGS, _COMPLETE, _STATUS = 8, 0x40, 37
_BUSY, _FAILED = 0x80, 0x40
_POLL = 0.001  # seconds
_PATIENCE = 0.1
_AT_FIRST = 5.0  # seconds that a command may take before the module said how long: what hosts commonly allow
_MARGIN = 1.5
_FEATURES = 0x0040
_REASONS = {
    0x01: "does not know the command",
    0x02: "finds a parameter wrong",
    0x05: "finds the check code wrong",
    0x06: "wants a password",
    0x07: "cannot do it in its present state",
}


class Mailbox:
    """The mailbox of one module.

    Args:
        memory: of the module.
        background: whether it goes on answering while it executes.
    """

    def __init__(self, memory: ModuleMemory, *, background: bool) -> None:
        self._memory = memory
        self._background = background
        self._longest = _AT_FIRST

    async def learn_limits(self) -> None:
        """Ask how long commands may take."""
        reply = await self.execute(_FEATURES, b"", 36)
        advertised = int.from_bytes(reply[34:36], "big") / 1000
        if advertised > 0:
            self._longest = advertised * _MARGIN

    async def execute(self, command: int, payload: bytes, reply_length: int) -> bytes:
        """Give a command and wait for its reply.

        Raises:
            ModuleTroubleError: the module refuses it, is not done in time, or answers something else.
            NotAcknowledgedError: the module answers nobody for longer than a command may take.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self._longest
        await self._until_free(end)
        await self._read(_FLAGS, 1)  # whatever was completed before is none of ours
        head = command.to_bytes(2, "big") + bytes((0, 0, len(payload)))
        check = 0xFF - reg.checksum(head + payload)
        await self._write(_HEAD, head[2:] + bytes((check, 0, 0)))
        if payload:
            await self._write(_PAYLOAD, payload)
        await self._write(_COMMAND, head[:2])
        while not (await self._answer(_FLAGS, end))[0] & _COMPLETE:
            if loop.time() >= end:
                raise ModuleTroubleError(
                    Trouble.SWITCH_FAILED, f"command {command:04X}h was not done after {self._longest:.3g} s"
                )
            await asyncio.sleep(_POLL)
        status = (await self._read(_STATUS, 1))[0]
        if status & (_BUSY | _FAILED):
            reason = _REASONS.get(status & 0x3F, f"answers status {status:02X}h")
            raise ModuleTroubleError(Trouble.SWITCH_REFUSED, f"to command {command:04X}h the module {reason}")
        return await self._reply(command, reply_length)

    async def _reply(self, command: int, length: int) -> bytes:
        told = await answered(lambda: self._memory.read(reg.COMMANDS, _REPLY_LENGTH, 2), _PATIENCE)
        reply = await answered(lambda: self._memory.read(reg.COMMANDS, _PAYLOAD, length), _PATIENCE)
        if told[0] != length or told[1] != 0xFF - reg.checksum(reply):
            raise ModuleTroubleError(Trouble.SWITCH_FAILED, f"the reply to command {command:04X}h is garbled")
        return reply

    async def _until_free(self, end: float) -> None:
        while (await self._answer(_STATUS, end))[0] & _BUSY:
            if asyncio.get_running_loop().time() >= end:
                raise ModuleTroubleError(Trouble.SWITCH_FAILED, "its mailbox is busy with a command of somebody else")
            await asyncio.sleep(_POLL)

    async def _answer(self, byte: int, end: float) -> bytes:
        """A byte of lower memory; silence is waited out, for the module may be executing."""
        patience = max(_PATIENCE, end - asyncio.get_running_loop().time()) if not self._background else _PATIENCE
        return await answered(lambda: self._memory.read(0, byte, 1), patience)

    async def _read(self, byte: int, length: int) -> bytes:
        return await answered(lambda: self._memory.read(0, byte, length), _PATIENCE)

    async def _write(self, byte: int, data: bytes) -> None:
        await answered(lambda: self._memory.write(reg.COMMANDS, byte, data), _PATIENCE)
