"""Commands in a mailbox: page 9Fh. Here they reach the switch of modules that have no page for it.

A command is taken when its number is written. A module that works in the foreground answers nobody until it is done;
one that works in the background says that it is busy and goes on answering. Nothing here is about firmware: the queries
for it say that there is none to be had.

Commands of this project's own: 8000h moves lanes (payload: lanes one bit each, path code, owner's token) and replies
with the result of each lane; 8001h replies with what each lane selects, the results, and the number of commits.
"""

from collections.abc import Callable
from enum import IntEnum

from ringlight.emulator.module import encoding
from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.module.memory import LOWER
from ringlight.emulator.module.profile import LANES, CdbMode
from ringlight.emulator.module.switch import CODES, Result, Switch
from ringlight.fabric.circuits import Path

PAGE = 0x9F
_COMMAND, _LENGTH, _CHECK, _REPLY_LENGTH, _REPLY_CHECK, _PAYLOAD = 128, 132, 133, 134, 135, 136
_LONGEST_PAYLOAD = 120
_LAST_GENERAL = 0x00FF
_MOVE_LANES, _READ_STATE = 0x8000, 0x8001
_MOVE_PAYLOAD = 3  # bytes
_STATUS, _FLAGS, _COMPLETE = 37, 8, 0x40
_CAPTURED, _EXECUTING = 0x81, 0x83
_CAPTURING = (0.0002, 0.001)  # seconds
_EXECUTION = (0.0005, 0.004)
_PASSWORD = bytes((0x00, 0x00, 0x10, 0x11))


class Status(IntEnum):
    """What became of a command. The numbers are those of the register."""

    SUCCESS = 0x01
    UNKNOWN = 0x41
    BAD_PARAMETER = 0x42
    BAD_CHECK_CODE = 0x45
    BAD_PASSWORD = 0x46
    WRONG_STATE = 0x47


_Outcome = tuple[Status, bytes]


class CommandBox:
    """The mailbox of one module."""

    def __init__(self, chassis: Chassis, switch: Switch) -> None:
        self._memory = memory = chassis.memory
        self._flags = chassis.flags
        self._timeline = chassis.timeline
        self._pace = chassis.pace
        self._profile = chassis.profile
        self._faults = chassis.faults
        self._switch = switch
        self._busy = False
        self._queries: dict[int, Callable[[bytes], _Outcome]] = {
            0x0000: lambda _: (Status.SUCCESS, bytes((2, 0x01))),
            0x0001: lambda given: (Status.SUCCESS if given == _PASSWORD else Status.BAD_PASSWORD, b""),
            0x0003: lambda _: (Status.SUCCESS, b""),
            0x0040: lambda _: (Status.SUCCESS, self._features()),
            0x0041: lambda _: (Status.SUCCESS, bytes(18)),
            0x0042: lambda _: (Status.SUCCESS, bytes(2)),
            _READ_STATE: lambda _: (Status.SUCCESS, self._state()),
        }
        if chassis.profile.cdb is CdbMode.NONE:
            return
        memory.add_page(PAGE)
        memory.allow(PAGE, [*range(_COMMAND, _REPLY_LENGTH), *range(_PAYLOAD, 256)])
        memory.on_write(PAGE, _COMMAND + 1, lambda _: self._capture())

    @property
    def silences_module(self) -> bool:
        """Whether a command keeps the module from answering anybody."""
        return self._busy and self._profile.cdb is CdbMode.FOREGROUND

    def _capture(self) -> None:
        if self._busy:
            return
        self._busy = True
        self._memory.lower[_STATUS] = _CAPTURED
        self._timeline.plan("command", self._pace.between(*_CAPTURING), self._execute)

    def _execute(self) -> None:
        command = int.from_bytes(self._fields(_COMMAND, 2), "big")
        payload = self._fields(_PAYLOAD, min(self._memory.get(PAGE, _LENGTH), _LONGEST_PAYLOAD))
        covered = self._fields(_COMMAND, _CHECK - _COMMAND) + payload
        if self._memory.get(PAGE, _CHECK) != 0xFF - encoding.checksum(covered):
            self._finish((Status.BAD_CHECK_CODE, b""))
            return
        self._memory.lower[_STATUS] = _EXECUTING
        if command == _MOVE_LANES:
            self._move(payload)
            return
        query = self._queries.get(command)
        outcome = query(payload) if query is not None else (Status.UNKNOWN, b"")
        seconds = self._pace.between(*_EXECUTION) + self._faults.seconds(ModuleFaultKind.CDB_SLOW)
        self._timeline.plan("command", seconds, lambda: self._finish(outcome))

    def _move(self, payload: bytes) -> None:
        """Command 8000h. It is done when the switch is."""
        if len(payload) != _MOVE_PAYLOAD or payload[1] >= len(CODES) or not payload[0]:
            self._finish((Status.BAD_PARAMETER, b""))
        elif self._switch.is_moving:
            self._finish((Status.WRONG_STATE, b""))
        else:
            lanes, path, token = payload
            wanted: Path | Result = Result.LOCKED if self._switch.is_locked(token) else CODES[path]
            self._switch.commit(
                self._switch.checked({lane: wanted for lane in range(LANES) if lanes >> lane & 1}), self._moved
            )

    def _moved(self) -> None:
        outcome = (Status.SUCCESS, bytes(self._switch.results))
        seconds = self._faults.seconds(ModuleFaultKind.CDB_SLOW)
        self._timeline.plan("command", seconds, lambda: self._finish(outcome))

    def _finish(self, outcome: _Outcome) -> None:
        status, reply = outcome
        self._busy = False
        self._memory.lower[_STATUS] = status
        if status is Status.SUCCESS:
            self._memory.put(PAGE, _PAYLOAD, reply)
            self._memory.set(PAGE, _REPLY_LENGTH, len(reply))
            self._memory.set(PAGE, _REPLY_CHECK, 0xFF - encoding.checksum(reply))
        self._flags.happen(LOWER, _FLAGS, _COMPLETE)

    def _fields(self, byte: int, length: int) -> bytes:
        return bytes(self._memory.get(PAGE, at) for at in range(byte, byte + length))

    def _features(self) -> bytes:
        """Which of the commands 0000h to 00FFh there are, one bit each, and how long any may take."""
        known = sum(1 << command for command in self._queries if command <= _LAST_GENERAL)
        return bytes(2) + known.to_bytes(32, "little") + encoding.u16(self._profile.durations.command)

    def _state(self) -> bytes:
        committed = bytes(CODES.index(path) for path in self._switch.committed)
        return committed + bytes(self._switch.results) + self._switch.commits.to_bytes(4, "big")
