"""What all parts of a module share."""

from dataclasses import dataclass

from ringlight.emulator.module.faults import OpenFaults
from ringlight.emulator.module.flags import Flags
from ringlight.emulator.module.memory import Memory
from ringlight.emulator.module.pace import Pace
from ringlight.emulator.module.profile import ModuleProfile
from ringlight.emulator.module.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Chassis:
    """The registers of a module, its time, what it can do, and what is wrong with it."""

    memory: Memory
    flags: Flags
    timeline: Timeline
    pace: Pace
    profile: ModuleProfile
    faults: OpenFaults
