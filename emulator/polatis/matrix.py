"""The optics of a matrix switch: ports, mirrors that take their time, light that follows. Pure, in virtual time.

Ingresses are ports 1..N, egresses N+1..N+M. What was commanded last and what the mirrors do are two tables: a command
is checked against the first at once, and carried out one after another, each in 25 to 50 ms. While a cross-connect is
moved it is dark; those that a command does not touch stay lit all the time.

At each ingress a transceiver sends constant light. What comes out of an egress is that, less the loss of the path.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from random import Random

from ringlight.emulator.polatis.errors import RefusedError, ScpiError

MOVE_SECONDS = (0.025, 0.050)
LAUNCH_DBM = 0.0
FLOOR_DBM = -50.0
"""What a monitor shows in the dark."""

_LOSS_DB = (0.8, 1.8)
_MOST_MOVES = 1000  # waiting to be carried out

CONFLICT = ScpiError(-221, "Settings conflict")
OUT_OF_RANGE = ScpiError(-222, "Data out of range")
TOO_MUCH_DATA = ScpiError(-223, "Too much data")
ILLEGAL_VALUE = ScpiError(-224, "Illegal parameter value")
HARDWARE_ERROR = ScpiError(-240, "Hardware error")


class PortState(Enum):
    """State of a port; the letter is what a client is told."""

    DISABLED = "D"
    ENABLED = "E"
    FAILED = "F"


class BootMode(Enum):
    """What becomes of the cross-connects when power comes back."""

    DARK = "DARK"
    RESTORE = "REST"
    AUTOMATIC = "AUT"


@dataclass(frozen=True, slots=True)
class _Move:
    """Mirrors on their way to a table."""

    start: float
    done: float
    after: Mapping[int, int]


class Matrix:
    """A switch of `inputs` x `outputs` ports.

    Args:
        seed: of losses and of the time that moves take.

    Attributes:
        moves: commands that were carried out, or are waiting to be.
        slower: seconds added to each move from now on.
        deaf_for: set commands that will be ignored without a word.
        boot_mode: see `BootMode`.
    """

    def __init__(self, inputs: int, outputs: int, *, seed: int = 0) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.moves = 0
        self.slower = 0.0
        self.deaf_for = 0
        self.boot_mode = BootMode.AUTOMATIC
        self._rng = Random(seed)  # noqa: S311 - losses and durations, no secret
        self._commanded: dict[int, int] = {}
        self._settled: Mapping[int, int] = {}
        self._moving: deque[_Move] = deque()
        self._states = dict.fromkeys(range(1, inputs + outputs + 1), PortState.ENABLED)
        self._launch: dict[int, float | None] = dict.fromkeys(range(1, inputs + 1), LAUNCH_DBM)
        self._losses: dict[tuple[int, int], float] = {}

    # -- commands ----------------------------------------------------------------------------------------------------

    def connect(self, pairs: Mapping[int, int], now: float) -> None:
        """Add cross-connects, all or none.

        Raises:
            RefusedError: a port is in use, cannot be used, or is none of this side.
        """
        self._check(pairs, among=self._commanded, now=now)
        self._command({**self._commanded, **pairs}, now)

    def connect_only(self, pairs: Mapping[int, int], now: float) -> None:
        """Make these the only cross-connects.

        Raises:
            RefusedError: a port cannot be used, or is none of this side.
        """
        self._check(pairs, among={}, now=now)
        self._command(dict(pairs), now)

    def disconnect(self, ingresses: Iterable[int], egresses: Iterable[int], now: float) -> None:
        """Remove cross-connects: of these ingresses, and, where given, of just these egresses. All or none.

        Raises:
            RefusedError: there is no such cross-connect.
        """
        ingresses, egresses = list(ingresses), list(egresses)
        self._advance(now)
        if egresses and len(egresses) != len(ingresses):
            raise RefusedError(ILLEGAL_VALUE)
        if not all(1 <= ingress <= self.inputs for ingress in ingresses):
            raise RefusedError(OUT_OF_RANGE)
        found = [self._commanded.get(ingress) for ingress in ingresses]
        if None in found or (egresses and found != egresses):
            raise RefusedError(CONFLICT)
        self._command({i: e for i, e in self._commanded.items() if i not in ingresses}, now)

    def disconnect_all(self, now: float) -> None:
        """Remove every cross-connect."""
        self._advance(now)
        self._command({}, now)

    def set_state(self, ports: Iterable[int], state: PortState) -> None:
        """Enable, disable, break or mend ports. A broken one is not enabled by asking for it.

        Raises:
            RefusedError: a port is out of range, or broken.
        """
        ports = list(ports)
        self._must_exist(ports)
        if state is not PortState.FAILED and any(self._states[port] is PortState.FAILED for port in ports):
            raise RefusedError(HARDWARE_ERROR)
        self._states.update(dict.fromkeys(ports, state))

    def mend(self, ports: Iterable[int]) -> None:
        """Repair ports.

        Raises:
            RefusedError: a port is out of range.
        """
        ports = list(ports)
        self._must_exist(ports)
        self._states.update(dict.fromkeys(ports, PortState.ENABLED))

    def send(self, ingresses: Iterable[int], dbm: float | None) -> None:
        """Let the transceivers at ingresses send this much light from now on, or none.

        Raises:
            RefusedError: one is no ingress.
        """
        ingresses = list(ingresses)
        if not all(ingress in self._launch for ingress in ingresses):
            raise RefusedError(OUT_OF_RANGE)
        self._launch.update(dict.fromkeys(ingresses, dbm))

    def lose_power(self) -> None:
        """Lose power: the mirrors stop where they are, and what is kept depends on the boot mode."""
        if self.boot_mode is BootMode.DARK:
            self._commanded = {}
        self._moving.clear()
        self._settled = dict(self._commanded)

    # -- what is to be seen ------------------------------------------------------------------------------------------

    def connections(self, now: float) -> dict[int, int]:
        """What the mirrors do at this moment, egress by ingress."""
        self._advance(now)
        return dict(sorted(self._settled.items()))

    def peer(self, port: int, now: float) -> int | None:
        """The other end of a port's cross-connect.

        Raises:
            RefusedError: there is no such port.
        """
        self._must_exist([port])
        connections = self.connections(now)
        return connections.get(port) or next((i for i, egress in connections.items() if egress == port), None)

    def states(self, ports: Iterable[int]) -> list[PortState]:
        """The states of ports.

        Raises:
            RefusedError: there is no such port.
        """
        ports = list(ports)
        self._must_exist(ports)
        return [self._states[port] for port in ports]

    def power(self, port: int, now: float) -> float:
        """What the monitor at a port shows, in dBm: at an ingress what comes in, at an egress what goes out.

        Raises:
            RefusedError: there is no such port.
        """
        self._must_exist([port])
        if port <= self.inputs:
            return self._sent(port)
        ingress = next((i for i, egress in self.connections(now).items() if egress == port), None)
        if ingress is None or not all(state is PortState.ENABLED for state in self.states((ingress, port))):
            return FLOOR_DBM
        return max(FLOOR_DBM, self._sent(ingress) - self._loss(ingress, port))

    def still_at(self, now: float) -> float:
        """When the mirrors stand still, if nothing more is commanded."""
        self._advance(now)
        return self._moving[-1].done if self._moving else now

    # -- inside ------------------------------------------------------------------------------------------------------

    def _check(self, pairs: Mapping[int, int], *, among: Mapping[int, int], now: float) -> None:
        self._advance(now)
        egresses = list(pairs.values())
        if len(set(egresses)) != len(egresses):
            raise RefusedError(ILLEGAL_VALUE)
        if not all(1 <= i <= self.inputs < e <= self.inputs + self.outputs for i, e in pairs.items()):
            raise RefusedError(OUT_OF_RANGE)
        states = self.states([*pairs, *egresses])
        if PortState.FAILED in states:
            raise RefusedError(HARDWARE_ERROR)
        if PortState.DISABLED in states or pairs.keys() & among.keys() or set(egresses) & set(among.values()):
            raise RefusedError(CONFLICT)

    def _command(self, table: dict[int, int], now: float) -> None:
        if self.deaf_for:
            self.deaf_for -= 1
            return
        if table == self._commanded:
            return
        if len(self._moving) >= _MOST_MOVES:
            raise RefusedError(TOO_MUCH_DATA)
        self.moves += 1
        self._commanded = table
        start = self.still_at(now)
        self._moving.append(_Move(start, start + self._rng.uniform(*MOVE_SECONDS) + self.slower, dict(table)))
        self._advance(now)

    def _advance(self, now: float) -> None:
        """Let the mirrors be where they are by now."""
        while self._moving and now >= self._moving[0].done:
            self._settled = self._moving.popleft().after
        if self._moving and now >= self._moving[0].start:
            after = self._moving[0].after
            self._settled = {i: e for i, e in self._settled.items() if after.get(i) == e}

    def _must_exist(self, ports: Iterable[int]) -> None:
        if not all(port in self._states for port in ports):
            raise RefusedError(OUT_OF_RANGE)

    def _sent(self, ingress: int) -> float:
        launch = self._launch[ingress]
        return FLOOR_DBM if launch is None else max(FLOOR_DBM, launch)

    def _loss(self, ingress: int, egress: int) -> float:
        """Of a path through the switch: drawn once, and the same ever after."""
        key = (ingress, egress)
        if key not in self._losses:
            self._losses[key] = self._rng.uniform(*_LOSS_DB)
        return self._losses[key]
