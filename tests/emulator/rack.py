"""Nodes with real modules, two a bundle, under a clock that the test moves, and a hand that writes raw registers."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.module.module import Module
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.emulator.plant import PlantEvent
from ringlight.emulator.register_plant import ModuleKey, RegisterPlant
from ringlight.fabric.circuits import Path
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.wiring import Wiring

MODULES = 2  # a bundle
_CODES = {Path.PATH_1: 1, Path.PATH_2: 2, Path.LOOPBACK: 3}


class Rack:
    """A plant and its time.

    Attributes:
        moved: every module that the plant said moved, in order.
    """

    def __init__(self, make_spec: Callable[..., FabricSpec], nodes: int = 4) -> None:
        spec = make_spec(nodes, k=2, gpus=4)
        bundles = tuple(replace(bundle, modules=MODULES) for bundle in spec.bundles)
        self.now = 100.0
        self.moved: list[ModuleKey] = []
        self.plant = RegisterPlant(Wiring(replace(spec, bundles=bundles)), "boot", _make, lambda: self.now)
        self.plant.moved = self._note

    def settle(self) -> None:
        """Let everything happen that happens by itself."""
        while (due := self._next()) is not None:
            when, position, select = due
            self.now = max(self.now, when)
            self.plant.modules(position)[select].advance(self.now)
            self.plant.follow(position, select)

    def write(self, position: int, select: int, page: int, byte: int, *content: int) -> None:
        """Write to a page of a module, and let the plant follow."""
        module = self.plant.modules(position)[select]
        module.write(bytes((126, 0, page)), self.now)
        module.write(bytes((byte, *content)), self.now)
        self.plant.follow(position, select)

    def command(self, position: int, select: int, path: Path) -> None:
        """Have one module go to a path; time must go by."""
        self.write(position, select, 0xB0, 136, *[_CODES[path]] * 8)
        self.write(position, select, 0xB0, 152, 1)
        self.write(position, select, 0xB0, 160, 1)

    def select(self, position: int, bundle: int, path: Path) -> None:
        """Have a bundle go to a path, and wait until it is there."""
        for number in range(MODULES):
            self.command(position, bundle * MODULES + number, path)
        self.settle()

    def inject(self, kind: FaultKind, node: str, **details: float | str) -> list[PlantEvent]:
        return self.plant.inject(FaultRequest(kind, node, id="it", **details))[1]

    def repair(self) -> list[PlantEvent]:
        return self.plant.repair("it")[1]

    def _next(self) -> tuple[float, int, int] | None:
        due = (
            (when, position, select)
            for position in range(self.plant.wiring.size)
            for select, module in enumerate(self.plant.modules(position))
            if (when := module.next_event()) is not None
        )
        return min(due, default=None)

    def _note(self, keys: Iterable[ModuleKey]) -> None:
        self.moved += keys


def _make(node: str, bundle: int, number: int, now: float) -> Module:
    identity = ModuleIdentity(f"{node}b{bundle}m{number}")
    return Module(identity, profile=ModuleProfile(), seed=bundle * MODULES + number, now=now)
