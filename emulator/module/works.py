"""All that a module forgets when it loses power or is reset: its registers, and every state in it.

They are made anew each time. What a part does to another goes through here: a control bit moves a state machine, that
turns lasers on, receivers see something else, and flags say so.
"""

from collections.abc import Callable, Mapping
from random import Random

from ringlight.emulator.module import encoding, pages
from ringlight.emulator.module.access import Access
from ringlight.emulator.module.cdb import CommandBox
from ringlight.emulator.module.chassis import Chassis
from ringlight.emulator.module.data_paths import DataPaths
from ringlight.emulator.module.faults import ModuleFaultKind, OpenFaults
from ringlight.emulator.module.flags import Flags
from ringlight.emulator.module.memory import LOWER, Memory
from ringlight.emulator.module.monitors import Monitors
from ringlight.emulator.module.optics import Optics
from ringlight.emulator.module.pace import Pace
from ringlight.emulator.module.power import Power
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.emulator.module.switch import Switch
from ringlight.emulator.module.timeline import Timeline
from ringlight.emulator.module.vdm import Diagnostics
from ringlight.fabric.circuits import Path

_DIAGNOSTICS, _SCRATCHPAD = 0x13, range(184, 192)
_REVISION, _VENDOR, _CHECKSUM = 1, 129, 222
_BAD_NAME = b"RING\xff\xfeLIGHT\x80    "
_OLD_REVISION = 0x30


class Works:
    """The inside of one module, since it got power.

    Args:
        factory: how the module came out of the factory: the same whenever its works are made anew.
        arriving: the light at its external ports.
        low_power: whether LPMode is asserted.
        reset: called when software asks for a reset.

    Attributes:
        began_at: when it got power.
        power, optics, commands, access: its parts, as far as anybody outside has to do with them.
    """

    def __init__(
        self,
        identity: ModuleIdentity,
        profile: ModuleProfile,
        faults: OpenFaults,
        timeline: Timeline,
        pace: Pace,
        *,
        factory: Random,
        arriving: Mapping[Path, tuple[float, ...]],
        low_power: bool,
        reset: Callable[[], None],
    ) -> None:
        self.began_at = timeline.now
        self._identity = identity
        memory = Memory()
        memory.put(LOWER, 0, pages.lower(profile))
        memory.add_page(0x00, pages.administrative(identity, profile))
        memory.add_page(0x01, pages.advertising(profile))
        memory.add_page(0x02, pages.limits())
        memory.add_page(_DIAGNOSTICS)
        memory.allow(_DIAGNOSTICS, _SCRATCHPAD)
        self._chassis = chassis = Chassis(memory, Flags(memory), timeline, pace, profile, faults)
        self.access = Access(chassis)
        self.optics = Optics(factory, faults, arriving)
        self._monitors = Monitors(chassis, factory, self.optics)
        self.power = Power(chassis, low_power=low_power, changed=self._reconsider, reset=reset)
        self._data_paths = DataPaths(chassis, is_ready=self._may_be_up, changed=self._reconsider)
        self._switch = Switch(chassis, self.optics, together=self._data_paths.together)
        self.commands = CommandBox(chassis, self._switch)
        Diagnostics(chassis, self._monitors, self.optics)
        self.optics.changed = self._seen
        self.struck()

    @property
    def interrupt(self) -> bool:
        """Whether IntL is asserted."""
        return self.power.answers and self._chassis.flags.interrupt

    def struck(self) -> None:
        """What is wrong with the module changed."""
        memory, faults = self._chassis.memory, self._chassis.faults
        bad_name = faults.has(ModuleFaultKind.BAD_VENDOR)
        memory.put(0x00, _VENDOR, _BAD_NAME if bad_name else encoding.text(self._identity.vendor, 16))
        memory.set(0x00, _CHECKSUM, encoding.checksum(memory.pages[0x00][: _CHECKSUM - 128]))
        old = faults.has(ModuleFaultKind.OLD_REVISION)
        memory.set(LOWER, _REVISION, _OLD_REVISION if old else self._chassis.profile.revision)
        self.optics.look()

    def _may_be_up(self) -> bool:
        return self.power.is_ready and not self.power.wants_low_power

    def _reconsider(self) -> None:
        """A state or a control bit changed: everything that follows from it."""
        self.power.reconsider(all_deactivated=self._data_paths.all_deactivated)
        self._data_paths.reconsider()
        self.optics.turn(self._data_paths.lasers_on())
        self._seen()

    def _seen(self) -> None:
        """The receivers may see something else."""
        self._data_paths.see(self.optics.has_signal)
        self._monitors.watch(is_up=self._may_be_up())
        self._switch.tell_faults()
