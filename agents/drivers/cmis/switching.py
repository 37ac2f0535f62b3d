"""The ways to move a module's switch, each as a profile: pages that are staged and committed, or commands.

Every way has the same contract. `move` brings the switch towards a path and says only what went wrong; what the switch
selects is what `committed` reads, and nothing else. A commit that is still in progress makes that unknown.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import ModuleMemory, answered
from ringlight.agents.drivers.cmis.identity import ModuleIdentity
from ringlight.agents.drivers.cmis.mailbox import Mailbox
from ringlight.agents.drivers.cmis.registers import LANES, Field, duration
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble
from ringlight.fabric.circuits import Path

PATIENCE = 0.1  # seconds that a module may refuse an access, being busy
_POLL = 0.0005  # seconds between looks at a commit that is in progress
_MARGIN, _SLACK = 2.0, 0.02  # advertised durations are upper bounds, and not all modules keep them
_LATE = 0.4  # seconds that a module may be late which says that it is still at it: what it does, it then does anyway
_STAGINGS = 3

_SUCCESS, _IN_PROGRESS, _HARDWARE = 1, 2, 7
_RESULTS = {
    0: "says nothing of it",
    3: "finds it invalid",
    4: "says that it is no permutation",
    5: "says that it is in conflict with a data path",
    6: "does not support that order of lanes",
    7: "says that the switch did not move",
    8: "says that somebody else owns the switch",
}


@dataclass(frozen=True, slots=True)
class SwitchState:
    """What a switch says of itself.

    Attributes:
        path: that all lanes select; unknown where they differ, or while a commit is in progress.
        away: seconds without light of the last switch; 0 where that is not told.
        commits: since the module got power; 0 where that is not told.
        stuck: why it does not move, as far as the module says so.
        losses: dB that it takes on each path; empty where that is not told.
    """

    path: Path
    away: float = 0.0
    commits: int = 0
    stuck: str = ""
    losses: Mapping[Path, float] = field(default_factory=dict)


class Switch(Protocol):
    """One module's switch."""

    async def prepare(self) -> None:
        """Read what it advertises.

        Raises:
            ModuleTroubleError: it is not what it should be.
        """

    async def move(self, path: Path) -> None:
        """Bring all lanes to a path.

        Raises:
            ModuleTroubleError: that did not succeed, or nobody knows.
            NotAcknowledgedError: the module does not answer.
        """

    async def state(self) -> SwitchState:
        """What it says of itself now; raises as `move`."""


@dataclass(frozen=True, slots=True)
class PagedProfile:
    """A switch with pages to stage on and to commit by.

    Attributes:
        name: of the profile.
        duration: where the longest commit is advertised.
        staged, result, committed: a byte a lane.
        enable, commit: bytes of the same page, bit 0.
        codes: bytes to stage for each path that it can select.
    """

    name: str
    duration: Field
    staged: Field
    enable: int
    commit: int
    result: Field
    committed: Field
    codes: Mapping[Path, bytes]


OCSTRX_B0 = PagedProfile(
    "ocstrx-b0",
    reg.OCS_COMMIT_DURATION,
    reg.OCS_STAGED,
    152,
    160,
    reg.OCS_RESULT,
    reg.OCS_COMMITTED,
    {
        Path.DARK: bytes([0] * LANES),
        Path.PATH_1: bytes([1] * LANES),
        Path.PATH_2: bytes([2] * LANES),
        Path.LOOPBACK: bytes([3] * LANES),
    },
)
CMIS_6D = PagedProfile(
    "cmis-6d",
    reg.LANE_COMMIT_DURATION,
    reg.LANE_STAGED,
    152,
    160,
    reg.LANE_RESULT,
    reg.LANE_COMMITTED,
    {
        Path.PATH_1: bytes((1, 2, 3, 4, 5, 6, 7, 8)),
        Path.PATH_2: bytes((5, 6, 7, 8, 1, 2, 3, 4)),
        Path.LOOPBACK: bytes((8, 7, 6, 5, 4, 3, 2, 1)),
    },
)
CDB_8000 = "cdb-8000"
PROFILES = (OCSTRX_B0.name, CMIS_6D.name, CDB_8000)
_UNSAID_DARK = bytes(LANES)  # what page 6Dh shows for a module whose lanes are dark


class PagedSwitch:
    """`Switch` of a module with a page for it."""

    def __init__(self, memory: ModuleMemory, profile: PagedProfile) -> None:
        self._memory = memory
        self._profile = profile
        self._page = profile.staged.page
        self._longest = 0.0

    async def prepare(self) -> None:
        """Read how long a commit may take; page B0h must be signed."""
        if self._profile is OCSTRX_B0:
            head = await self._read(128, 128)
            if head[:4] != b"OCS1" or head[4] != 1 or head[127] != reg.checksum(head[:8]):
                raise ModuleTroubleError(Trouble.FOREIGN, "page B0h is not signed as that of a switch, layout 1")
        where = self._profile.duration
        code = int(where.decode(await self._read(where.byte, 1))[0])
        self._longest = duration(code) * _MARGIN + _SLACK

    async def move(self, path: Path) -> None:
        """Stage, enable, commit, and wait for what comes of it."""
        codes = self._profile.codes.get(path)
        if codes is None:
            raise ModuleTroubleError(Trouble.SWITCH_REFUSED, f"{self._profile.name} cannot select {path.name}")
        await self._stage(codes)
        await self._write(self._profile.enable, b"\1")
        loop = asyncio.get_running_loop()
        begun = loop.time()
        # A commit that was not acknowledged may have been taken all the same. It may be repeated: it is the same one.
        await self._write(self._profile.commit, b"\1")
        while True:
            results, committed = await self._outcome()
            refusals = sorted({result for result in results if result not in (_SUCCESS, _IN_PROGRESS, 0)})
            if _IN_PROGRESS not in results:
                if refusals:
                    raise _not_moved(refusals)
                if committed == codes:
                    return
            longest = self._longest + (_LATE if _IN_PROGRESS in results else 0.0)
            if loop.time() - begun >= longest:
                raise ModuleTroubleError(
                    Trouble.SWITCH_FAILED, f"a commit of {path.name} was not done after {longest:.3g} s"
                )
            await asyncio.sleep(_POLL)

    async def state(self) -> SwitchState:
        """What is committed, and what else page B0h tells."""
        if self._profile is not OCSTRX_B0:
            results, committed = await self._outcome()
            return SwitchState(self._path(results, committed))
        first = reg.OCS_RESULT.byte
        page = await self._read(first, reg.OCS_LOSSES.byte + reg.OCS_LOSSES.length - first)

        def of(where: Field) -> tuple[float, ...]:
            at = where.byte - first
            return tuple(float(value) for value in where.decode(page[at : at + where.length]))

        results, committed = page[:LANES], page[16 : 16 + LANES]
        losses = dict(zip((Path.PATH_1, Path.PATH_2, Path.LOOPBACK), of(reg.OCS_LOSSES)[1:], strict=True))
        return SwitchState(
            self._path(results, committed),
            away=of(reg.OCS_AWAY)[0] * 1e-6,
            commits=int(of(reg.OCS_COMMITS)[0]),
            stuck=_stuck(page[reg.OCS_FLAGS.byte - first]),
            losses={path: loss for path, loss in losses.items() if loss != reg.OCS_NO_LOSS},
        )

    def _path(self, results: bytes, committed: bytes) -> Path:
        if _IN_PROGRESS in results:
            return Path.UNKNOWN
        if self._profile is CMIS_6D and committed == _UNSAID_DARK:
            return Path.DARK
        paths = [path for path, codes in self._profile.codes.items() if codes == committed]
        return paths[0] if paths else Path.UNKNOWN

    async def _stage(self, codes: bytes) -> None:
        """What is committed is what was staged, so it is read back first: a page may have gone from under us."""
        for _ in range(_STAGINGS):
            await self._write(self._profile.staged.byte, codes)
            if await self._read(self._profile.staged.byte, LANES) == codes:
                return
        raise ModuleTroubleError(Trouble.SWITCH_FAILED, "what was staged is not what it reads back")

    async def _outcome(self) -> tuple[bytes, bytes]:
        """Results and what is committed, read at once."""
        first, last = self._profile.result.byte, self._profile.committed.byte
        page = await self._read(first, last + LANES - first)
        return page[:LANES], page[last - first :]

    async def _read(self, byte: int, length: int) -> bytes:
        return await answered(lambda: self._memory.read(self._page, byte, length), PATIENCE)

    async def _write(self, byte: int, data: bytes) -> None:
        await answered(lambda: self._memory.write(self._page, byte, data), PATIENCE)


class CommandSwitch:
    """`Switch` of a module that has it behind its mailbox only."""

    _MOVE, _STATE = 0x8000, 0x8001
    _CODES = (Path.DARK, Path.PATH_1, Path.PATH_2, Path.LOOPBACK)

    def __init__(self, memory: ModuleMemory, identity: ModuleIdentity) -> None:
        self._mailbox = Mailbox(memory, background=identity.background)

    async def prepare(self) -> None:
        """Ask how long commands may take."""
        await self._mailbox.learn_limits()

    async def move(self, path: Path) -> None:
        """Have all lanes moved."""
        results = await self._mailbox.execute(self._MOVE, bytes((0xFF, self._CODES.index(path), 0)), LANES)
        refusals = sorted({result for result in results if result != _SUCCESS})
        if refusals:
            raise _not_moved(refusals)

    async def state(self) -> SwitchState:
        """What is committed."""
        reply = await self._mailbox.execute(self._STATE, b"", 2 * LANES + 4)
        committed, results = reply[:LANES], reply[LANES : 2 * LANES]
        same = len(set(committed)) == 1 and committed[0] < len(self._CODES) and _IN_PROGRESS not in results
        return SwitchState(
            self._CODES[committed[0]] if same else Path.UNKNOWN,
            commits=int.from_bytes(reply[2 * LANES :], "big"),
        )


async def switch_of(memory: ModuleMemory, identity: ModuleIdentity, profile: str) -> Switch:
    """The switch of a module by the profile it was given, or, for ``auto``, by what it offers: its own page first.

    Raises:
        ModuleTroubleError: it has no such switch.
        NotAcknowledgedError: the module does not answer.
    """
    wanted = PROFILES if profile == "auto" else (profile,)
    refusals = []
    for name in wanted:
        if name == CMIS_6D.name and not identity.has_lane_switching:
            refusals.append("it has no media lane switching")
            continue
        if name == CDB_8000 and not identity.has_commands:
            refusals.append("it takes no commands")
            continue
        switch = _made(memory, identity, name)
        try:
            await switch.prepare()
        except ModuleTroubleError as trouble:
            refusals.append(str(trouble))
        else:
            return switch
    raise ModuleTroubleError(Trouble.FOREIGN, f"it has no switch that is known here: {'; '.join(refusals)}")


def _made(memory: ModuleMemory, identity: ModuleIdentity, name: str) -> Switch:
    if name == CDB_8000:
        return CommandSwitch(memory, identity)
    return PagedSwitch(memory, OCSTRX_B0 if name == OCSTRX_B0.name else CMIS_6D)


def _not_moved(results: list[int]) -> ModuleTroubleError:
    code = Trouble.SWITCH_FAILED if _HARDWARE in results else Trouble.SWITCH_REFUSED
    told = ", ".join(_RESULTS.get(result, f"answers {result}") for result in results)
    return ModuleTroubleError(code, f"the module {told}")


def _stuck(flags: int) -> str:
    told = [text for bit, text in ((0x02, "its heater is open"), (0x08, "it did not move")) if flags & bit]
    return " and ".join(told)
