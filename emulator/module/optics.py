"""The light in a module: lasers, the switch between them and the fibres, and receivers behind the same switch.

A lane's laser goes through the switch, which takes something from it (2.5 to 4.0 dB, another for each path), and leaves
at the port that the lane selects. What arrives there comes back through the same path of the switch and loses as much
once more before the receiver sees it. On loopback a lane sees its own laser. While the switch moves, or selects
nothing, a lane is dark both ways.
"""

import math
from collections.abc import Callable, Mapping
from random import Random

from ringlight.emulator.module import thresholds
from ringlight.emulator.module.faults import ModuleFaultKind, OpenFaults
from ringlight.emulator.module.profile import LANES
from ringlight.fabric.circuits import Path

DARKNESS = -math.inf  # dBm
_LASER = 4.5  # dBm, and up to this much more or less:
_LASER_SPREAD = 0.3
_LOSS = (2.5, 4.0)  # dB of a path of the switch
_PATHS = (Path.PATH_1, Path.PATH_2, Path.LOOPBACK)


class Optics:
    """All lanes of one module.

    Args:
        rng: how this module came out of the factory.
        faults: what is wrong with it.
        arriving: the light at the external ports.

    Attributes:
        changed: called whenever what the receivers see, or what leaves the module, may have changed.
        paths: what each lane selects; dark while the switch moves.
        losses: dB that each path of the switch takes.
        has_signal: whether the receiver of each lane sees enough light.
        lasers_on: which lanes send.
        version: grows with every change of what leaves the module, or of what it selects.
    """

    def __init__(self, rng: Random, faults: OpenFaults, arriving: Mapping[Path, tuple[float, ...]]) -> None:
        self.changed: Callable[[], None] = lambda: None
        self.paths: list[Path] = [Path.LOOPBACK] * LANES
        self.losses = {path: round(rng.uniform(*_LOSS), 2) for path in _PATHS}
        self.has_signal = [False] * LANES
        self.version = 0
        self._lasers = [_LASER + rng.uniform(-_LASER_SPREAD, _LASER_SPREAD) for _ in range(LANES)]
        self.lasers_on = [False] * LANES
        self._arriving = dict(arriving)
        self._faults = faults

    def turn(self, lanes_on: list[bool]) -> None:
        """Turn lasers on and off."""
        if self.lasers_on != lanes_on:
            self.lasers_on = list(lanes_on)
            self.look()

    def select(self, lane: int, path: Path) -> None:
        """Let the switch be at a path. `look` must follow."""
        self.paths[lane] = path

    def receive(self, port: Path, powers: tuple[float, ...]) -> None:
        """What arrives at an external port, in dBm a lane."""
        if self._arriving[port] != powers:
            self._arriving[port] = powers
            self._see()

    def look(self) -> None:
        """Something in here changed: light may leave otherwise, and be seen otherwise."""
        self.version += 1
        self._see()

    # -- what there is to see ------------------------------------------------------------------------------------------

    def sent(self, lane: int) -> float:
        """What the laser of a lane gives, before the switch, in dBm."""
        if not self.lasers_on[lane]:
            return DARKNESS
        return self._lasers[lane] - self._faults.amount(ModuleFaultKind.LASER_WEAK, lane)

    def emitted(self, port: Path) -> tuple[float, ...]:
        """What leaves an external port, in dBm a lane."""
        return tuple(
            self.sent(lane) - self.losses[port] if self.paths[lane] is port else DARKNESS for lane in range(LANES)
        )

    def received(self, lane: int) -> float:
        """What the receiver of a lane gets, behind the switch, in dBm."""
        path = self.paths[lane]
        if path not in self.losses:
            return DARKNESS
        arriving = self.sent(lane) if path is Path.LOOPBACK else self._arriving[path][lane]
        return arriving - self.losses[path] - self._faults.amount(ModuleFaultKind.RECEIVER_WEAK, lane)

    def path(self) -> Path:
        """What all lanes select; unknown where they differ."""
        first = self.paths[0]
        return first if all(path is first for path in self.paths) else Path.UNKNOWN

    def _see(self) -> None:
        for lane in range(LANES):
            limit = thresholds.LOS_ASSERTED if self.has_signal[lane] else thresholds.LOS_CLEARED
            self.has_signal[lane] = self.received(lane) >= limit
        self.changed()
