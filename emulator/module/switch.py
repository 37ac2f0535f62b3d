"""The optical switch of a module, and the three ways to move it: page B0h, page 6Dh, and commands (`cdb`).

All three drive one switch: a commit through one shows on the others. Page B0h is of this project's own design. It has
the contract of the standard's page 6Dh, media lane switching: stage, enable, commit, then read what came of it and
what is committed. Enabling alone does nothing, and a commit that is not enabled does nothing and says nothing.

Page 6Dh knows lanes, not paths. The eight lanes of a module are its inner ones; which fibre they leave by is said by
the order into which they are permuted: as they are is path 1, halves exchanged is path 2, reversed is loopback.
Other permutations are of no use to this switch and are refused (result 6).
"""

from collections.abc import Callable
from enum import IntEnum

from ringlight.emulator.module import encoding
from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.faults import ModuleFaultKind
from ringlight.emulator.module.memory import LOWER
from ringlight.emulator.module.optics import Optics
from ringlight.emulator.module.profile import LANES
from ringlight.fabric.circuits import Path

VENDOR, LANE_SWITCHING = 0xB0, 0x6D
SIGNATURE = b"OCS1"
LAYOUT = 1
CODES = (Path.DARK, Path.PATH_1, Path.PATH_2, Path.LOOPBACK)  # by their numbers on page B0h
_ALL_PATHS = 0x0F
_LONGEST_SWITCH = 8  # of 10 us
_STAGED, _PRESETS, _ENABLE, _OWNER, _COMMIT, _COMMIT_PRESET = 136, 144, 152, 153, 160, 161
_RESULT, _COMMITTED, _LATENCY, _COUNT, _FAULTS, _FAULT_MASK, _LOSSES, _CHECKSUM = 168, 184, 192, 200, 204, 205, 208, 255
_CUSTOM_FLAGS = 13  # of lower memory; bit 0: look at B0h:204
_PRESET_SLOTS = 4
_LATENCIES = 4  # that are kept, the newest first
_MOVING = (60e-6, 80e-6)  # seconds that the light is away
_NOT_APPLICABLE = b"\x7f\xff"
PERMUTATIONS: dict[Path, tuple[int, ...]] = {
    Path.PATH_1: (1, 2, 3, 4, 5, 6, 7, 8),
    Path.PATH_2: (5, 6, 7, 8, 1, 2, 3, 4),
    Path.LOOPBACK: (8, 7, 6, 5, 4, 3, 2, 1),
}


class Result(IntEnum):
    """What came of a commit on a lane. The numbers are those of the registers; 7 and 8 are page B0h's own."""

    NONE = 0
    SUCCESS = 1
    IN_PROGRESS = 2
    INVALID = 3
    NO_PERMUTATION = 4
    CONFLICT = 5
    ORDER_UNSUPPORTED = 6
    HARDWARE = 7
    LOCKED = 8


_BY_PERMUTATION: dict[tuple[int, ...], Path | Result] = {lanes: path for path, lanes in PERMUTATIONS.items()}


class FaultFlag(IntEnum):
    """Bits of B0h:204."""

    BIAS = 0x01
    HEATER_OPEN = 0x02
    PATH_POWER_LOW = 0x04
    STUCK = 0x08


class Switch:
    """The switch of one module.

    Args:
        together: the lanes of each data path: they must go the same way.

    Attributes:
        results: of the last commit, by lane.
        commits: how many there were since power came.
    """

    def __init__(self, chassis: Chassis, optics: Optics, *, together: Callable[[], list[list[int]]]) -> None:
        self.results = [Result.NONE] * LANES
        self._committed = list(optics.paths)
        self.commits = 0
        self._memory = chassis.memory
        self._flags = chassis.flags
        self._timeline = chassis.timeline
        self._pace = chassis.pace
        self._profile = profile = chassis.profile
        self._faults = chassis.faults
        self._optics = optics
        self._together = together
        self._latencies = [0.0] * _LATENCIES
        if profile.vendor_page:
            self._open_vendor_page()
        if profile.lane_switching:
            self._open_lane_switching()
        self._show()

    # -- commits -------------------------------------------------------------------------------------------------------

    @property
    def is_moving(self) -> bool:
        """Whether a commit is under way."""
        return Result.IN_PROGRESS in self.results

    @property
    def committed(self) -> tuple[Path, ...]:
        """What each lane selects since the last commit that succeeded."""
        return tuple(self._committed)

    @property
    def longest_commit(self) -> float:
        """Seconds, as advertised."""
        return encoding.LONGEST[self._profile.durations.commit]

    def is_locked(self, token: int = 0) -> bool:
        """Whether somebody else owns the switch."""
        owner = self._memory.get(VENDOR, _OWNER) if self._profile.vendor_page else 0
        return owner not in (0, token)

    def checked(self, wanted: dict[int, Path | Result]) -> dict[int, Path | Result]:
        """The same, but refused where the lanes of one data path would part."""
        after = {**dict(enumerate(self._committed)), **wanted}
        parted = {lane for lanes in self._together() if len({after[lane] for lane in lanes}) > 1 for lane in lanes}
        return {lane: Result.INVALID if lane in parted else what for lane, what in wanted.items()}

    def commit(self, wanted: dict[int, Path | Result], done: Callable[[], None] = lambda: None) -> None:
        """Move lanes to paths. Lanes for which a refusal is given get that as their result, and none moves then."""
        if self.is_moving:
            return  # the standard's contract: nothing happens until the one before is done
        if any(isinstance(what, Result) for what in wanted.values()):
            for lane, what in wanted.items():
                self.results[lane] = what if isinstance(what, Result) else Result.INVALID
            self._show()
            done()
            return
        paths = {lane: what for lane, what in wanted.items() if isinstance(what, Path)}
        for lane in paths:
            self.results[lane] = Result.IN_PROGRESS
        self._show()
        delay = self._pace.of(self._profile.durations.commit) + self._faults.seconds(ModuleFaultKind.SLOW)
        self._timeline.plan("switch", delay, lambda: self._leave(paths, done))

    def _leave(self, paths: dict[int, Path], done: Callable[[], None]) -> None:
        """The light leaves the paths that it had."""
        moving = {lane: path for lane, path in paths.items() if self._can_move(lane)}
        away = self._pace.between(*_MOVING) if moving else 0.0
        for lane, path in moving.items():
            if self._committed[lane] is not path:
                self._optics.select(lane, Path.DARK)
        self._optics.look()
        self._timeline.plan("switch", away, lambda: self._arrive(paths, moving, away, done))

    def _arrive(self, paths: dict[int, Path], moving: dict[int, Path], away: float, done: Callable[[], None]) -> None:
        for lane, path in moving.items():
            self._committed[lane] = path
            self._optics.select(lane, path)
        if moving:
            self._latencies = [away, *self._latencies[:-1]]
        silently = self._faults.has(ModuleFaultKind.STUCK_SILENTLY)
        for lane in paths:
            self.results[lane] = Result.SUCCESS if lane in moving or silently else Result.HARDWARE
        self.commits += 1
        self.tell_faults()
        self._show()
        self._optics.look()
        done()

    def _can_move(self, lane: int) -> bool:
        if any(
            self._faults.has(kind)
            for kind in (ModuleFaultKind.STUCK, ModuleFaultKind.STUCK_SILENTLY, ModuleFaultKind.HEATER_OPEN)
        ):
            return False
        movable = self._faults.lanes(ModuleFaultKind.PARTIAL)
        return not self._faults.has(ModuleFaultKind.PARTIAL) or bool(movable >> lane & 1)

    # -- page B0h ------------------------------------------------------------------------------------------------------

    def _open_vendor_page(self) -> None:
        memory = self._memory
        memory.add_page(VENDOR)
        memory.put(VENDOR, 128, SIGNATURE)
        memory.put(VENDOR, 132, bytes([LAYOUT, _ALL_PATHS, self._profile.durations.commit << 4, _LONGEST_SWITCH]))
        memory.put(VENDOR, _STAGED, bytes(CODES.index(path) for path in self._committed))
        losses = b"".join(
            encoding.s16(self._optics.losses[path] * 100) if path in self._optics.losses else _NOT_APPLICABLE
            for path in CODES
        )
        memory.put(VENDOR, _LOSSES, losses)
        memory.set(VENDOR, _CHECKSUM, encoding.checksum(memory.pages[VENDOR][:8]))
        memory.allow(VENDOR, [*range(_STAGED, _PRESETS + _PRESET_SLOTS), _OWNER])
        memory.allow(VENDOR, [_ENABLE], 0x01)
        memory.on_write(VENDOR, _COMMIT, self._commit_staged)
        memory.on_write(VENDOR, _COMMIT_PRESET, self._commit_preset)
        self._flags.add(VENDOR, _FAULTS, VENDOR, _FAULT_MASK)

    def _commit_staged(self, value: int) -> None:
        if value & 1 and self._memory.get(VENDOR, _ENABLE) & 1:
            staged = [self._memory.get(VENDOR, _STAGED + lane) for lane in range(LANES)]
            self.commit(self.checked(dict(enumerate(map(_path_of, staged)))))

    def _commit_preset(self, value: int) -> None:
        if not self._memory.get(VENDOR, _ENABLE) & 1:
            return
        known = 1 <= value <= _PRESET_SLOTS
        path = _path_of(self._memory.get(VENDOR, _PRESETS + value - 1)) if known else Result.INVALID
        self.commit(dict.fromkeys(range(LANES), path))

    # -- page 6Dh ------------------------------------------------------------------------------------------------------

    def _open_lane_switching(self) -> None:
        memory = self._memory
        memory.add_page(LANE_SWITCHING)
        memory.set(LANE_SWITCHING, 128, self._profile.durations.commit << 4)
        memory.put(LANE_SWITCHING, _STAGED, bytes(PERMUTATIONS.get(self._optics.path(), PERMUTATIONS[Path.PATH_1])))
        memory.allow(LANE_SWITCHING, range(_STAGED, _STAGED + LANES))
        memory.allow(LANE_SWITCHING, [_ENABLE], 0x01)
        memory.on_write(LANE_SWITCHING, _COMMIT, self._commit_lanes)

    def _commit_lanes(self, value: int) -> None:
        if not (value & 1 and self._memory.get(LANE_SWITCHING, _ENABLE) & 1):
            return
        lanes = tuple(self._memory.get(LANE_SWITCHING, _STAGED + lane) for lane in range(LANES))
        self.commit(dict.fromkeys(range(LANES), self._path_of_lanes(lanes)))

    def _path_of_lanes(self, lanes: tuple[int, ...]) -> Path | Result:
        if self.is_locked():
            return Result.CONFLICT
        if any(not 1 <= lane <= LANES for lane in lanes):
            return Result.INVALID
        if len(set(lanes)) < LANES:
            return Result.NO_PERMUTATION
        return _BY_PERMUTATION.get(lanes, Result.ORDER_UNSUPPORTED)

    # -- what there is to see ------------------------------------------------------------------------------------------

    def tell_faults(self) -> None:
        """Bring the flags of the switch in line with what is wrong with it."""
        if not self._profile.vendor_page:
            return
        weak = any(self._optics.sent(lane) < 0 for lane, on in enumerate(self._optics.lasers_on) if on)
        stuck = Result.HARDWARE in self.results
        held = (
            (FaultFlag.HEATER_OPEN if self._faults.has(ModuleFaultKind.HEATER_OPEN) else 0)
            | (FaultFlag.PATH_POWER_LOW if weak else 0)
            | (FaultFlag.STUCK if stuck else 0)
        )
        self._flags.hold(VENDOR, _FAULTS, held)
        self._flags.hold(LOWER, _CUSTOM_FLAGS, 0x01 if held else 0)

    def _show(self) -> None:
        results = bytes(self.results)
        if self._profile.vendor_page:
            self._memory.put(VENDOR, _RESULT, results)
            self._memory.put(VENDOR, _COMMITTED, bytes(CODES.index(path) for path in self._committed))
            self._memory.put(VENDOR, _LATENCY, b"".join(encoding.u16(each * 1e6) for each in self._latencies))
            self._memory.put(VENDOR, _COUNT, self.commits.to_bytes(4, "big"))
        if self._profile.lane_switching:
            self._memory.put(LANE_SWITCHING, _RESULT, bytes(min(code, Result.ORDER_UNSUPPORTED) for code in results))
            committed = PERMUTATIONS.get(self._committed[0]) if len(set(self._committed)) == 1 else None
            self._memory.put(LANE_SWITCHING, _COMMITTED, bytes(committed or (0,) * LANES))


def _path_of(code: int) -> Path | Result:
    return CODES[code] if code < len(CODES) else Result.INVALID
