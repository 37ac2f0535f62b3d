"""One optical transceiver with a circuit switch inside, as it behaves on its bus.

It is a value under a time that it is told: registers, state machines, lasers and the switch move on when somebody
advances it, reads or writes. It has no clock, no bus and no neighbour; who gives it light, and who takes what it sends,
is the fibre plant. All that a module is (`works`), it forgets when it loses power or is reset, except how it came out
of the factory: its serial number, its lasers, the losses in its switch.

The registers are those of CMIS 5.4 as far as a host of such a module needs them, and page B0h (`switch`).
"""

from random import Random

from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind, OpenFaults
from ringlight.emulator.module.nack import Nack
from ringlight.emulator.module.optics import DARKNESS
from ringlight.emulator.module.pace import Pace
from ringlight.emulator.module.profile import LANES, ModuleIdentity, ModuleProfile
from ringlight.emulator.module.timeline import Timeline
from ringlight.emulator.module.works import Works
from ringlight.fabric.circuits import EXTERNAL_PATHS, Path

__all__ = ["LANES", "Module", "Nack"]

_NOT_READY_YET = b"\xff"


class Module:
    """One module that has power.

    Args:
        identity: who it says it is.
        profile: what it can do.
        seed: how it came out of the factory, and how long everything takes.
        now: seconds, when it got power.
        scale: what all durations are multiplied by.
    """

    def __init__(
        self, identity: ModuleIdentity, *, profile: ModuleProfile, seed: int, now: float, scale: float = 1.0
    ) -> None:
        self.identity = identity
        self.profile = profile
        self.faults = OpenFaults()
        self._seed = seed
        self._pace = Pace(Random(f"pace {seed}"), scale)  # noqa: S311 - repeatable on purpose
        self._timeline = Timeline(now)
        self._arriving = dict.fromkeys(EXTERNAL_PATHS, (DARKNESS,) * LANES)
        self._in_reset = False
        self._busy_until = now
        self._versions_before = 0
        self._works = self._made_anew(low_power=False)
        self._works.power.start()

    # -- the bus -------------------------------------------------------------------------------------------------------

    def read(self, length: int, now: float, address: int | None = None) -> bytes:
        """What a host reads, from an address or from where the last access ended.

        Raises:
            Nack: the module is not there, is starting, is busy, or just does not answer.
        """
        self.advance(now)
        self._need_answer()
        data = self._works.access.read(length, address)
        return _NOT_READY_YET * length if self._is_starting(ModuleFaultKind.BOOT_GARBAGE) else data

    def write(self, data: bytes, now: float) -> None:
        """What a host writes: an address, and bytes for there and on. They are taken together, or none is.

        Raises:
            Nack: as for `read`; or more bytes than the module takes.
        """
        self.advance(now)
        self._need_answer()
        if self._is_starting(ModuleFaultKind.BOOT_GARBAGE):
            return
        works = self._works
        works.access.write(data[0], data[1:])
        if len(data) > 1:
            self._busy_until = self._timeline.now + self.faults.seconds(ModuleFaultKind.SLOW_WRITE)

    def set_lines(self, *, reset: bool, low_power: bool, now: float) -> None:
        """Assert ResetL or LPMode, or let go of them."""
        self.advance(now)
        if reset != self._in_reset:
            self._in_reset = reset
            self.restart(now)
        self._works.power.set_line(low_power=low_power)

    @property
    def interrupt(self) -> bool:
        """Whether IntL is asserted: the module wants to be looked at."""
        return self.present and not self._in_reset and self._works.interrupt

    @property
    def present(self) -> bool:
        """Whether ModPrsL is asserted: something is plugged in."""
        return not self.faults.has(ModuleFaultKind.DEAD)

    # -- time ----------------------------------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Let everything happen that is due by now."""
        self._timeline.advance(now)

    def next_event(self) -> float | None:
        """When something will happen by itself."""
        return self._timeline.next()

    # -- light ---------------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """Grows whenever what it selects or sends may have changed."""
        return self._versions_before + self._works.optics.version

    def path(self) -> Path:
        """What its lanes select at this moment: dark while the switch moves, unknown where they differ."""
        return self._works.optics.path()

    def emitted(self, port: Path) -> tuple[float, ...]:
        """What leaves an external port, in dBm a lane; -inf for none."""
        return self._works.optics.emitted(port) if self.present else (DARKNESS,) * LANES

    def receive(self, port: Path, powers: tuple[float, ...], now: float) -> None:
        """What arrives at an external port from now on, in dBm a lane."""
        self.advance(now)
        self._arriving[port] = powers
        self._works.optics.receive(port, powers)

    def sees_light(self) -> bool:
        """Whether every lane's receiver has a signal."""
        return self.present and all(self._works.optics.has_signal)

    # -- what befalls it -----------------------------------------------------------------------------------------------

    def break_with(self, fault: ModuleFault) -> None:
        """Something is wrong from now on."""
        self.faults.open(fault)
        self._works.struck()

    def mend(self, kind: ModuleFaultKind) -> None:
        """It no longer is. A dead module starts anew: it was pulled out, and is plugged in again."""
        if not self.faults.has(kind):
            return
        was_present = self.present
        self.faults.close(kind)
        if self.present and not was_present:
            self.restart(self._timeline.now)
        self._works.struck()

    def restart(self, now: float) -> None:
        """All is forgotten and begins again, as after a loss of power or a reset."""
        self.advance(now)
        low_power = self._works.power.low_power_line
        self._versions_before = self.version() + 1
        self._timeline.clear()
        self._works = self._made_anew(low_power=low_power)
        if not self._in_reset:
            self._works.power.start()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _made_anew(self, *, low_power: bool) -> Works:
        return Works(
            self.identity,
            self.profile,
            self.faults,
            self._timeline,
            self._pace,
            factory=Random(f"factory {self._seed}"),  # noqa: S311 - repeatable on purpose
            arriving=self._arriving,
            low_power=low_power,
            reset=lambda: self.restart(self._timeline.now),
        )

    def _need_answer(self) -> None:
        if (
            not self.present
            or self._in_reset
            or not self._works.power.answers
            or self._timeline.now < self._busy_until
            or self._is_starting(ModuleFaultKind.BOOT_NACK)
            or self._works.commands.silences_module
            or self._pace.chance(self.faults.amount(ModuleFaultKind.NACK_STORM))
        ):
            raise Nack(of_address=True)

    def _is_starting(self, kind: ModuleFaultKind) -> bool:
        return self._timeline.now < self._works.began_at + self.faults.seconds(kind)
