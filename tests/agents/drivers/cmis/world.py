"""A driver on emulated modules, joined without a socket: a transfer is a call, and time is the event loop's."""

import asyncio
from random import Random

from ringlight.agents.drivers.cmis.access import PagedMemory
from ringlight.agents.drivers.cmis.driver import CmisDriver, CmisSettings
from ringlight.agents.drivers.cmis.identity import KNOWN_PARTS
from ringlight.agents.drivers.cmis.module import DrivenModule
from ringlight.agents.drivers.cmis.trouble import NotAcknowledgedError
from ringlight.emulator.module.module import Module, Nack
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.fabric.circuits import EXTERNAL_PATHS
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.inventory import BundleInventory, Inventory

QUICK = 0.01  # durations of modules in these tests, as a part of the real ones


class Wires:
    """`Transfers` to one emulated module, with everything that can befall a wire.

    Attributes:
        module: at the other end; may be replaced.
        transfers: that were tried so far.
        refuse: numbers of transfers that are not acknowledged, and do not reach the module.
        lose: numbers of transfers that reach the module, and whose acknowledgement is lost.
        gone: whether the bus is.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.transfers = 0
        self.refuse: set[int] = set()
        self.lose: set[int] = set()
        self.gone = False
        self.opened = False
        self.asked = asyncio.Event()

    async def open(self) -> None:
        self._need_bus()
        self.opened = True

    async def transfer(self, data: bytes, length: int) -> bytes:
        self._need_bus()
        await asyncio.sleep(0)
        number, self.transfers = self.transfers, self.transfers + 1
        if number in self.refuse:
            raise NotAcknowledgedError
        now = asyncio.get_running_loop().time()
        try:
            self.module.write(data, now)
            answer = self.module.read(length, now) if length else b""
        except Nack:
            raise NotAcknowledgedError from None
        if number in self.lose:
            raise NotAcknowledgedError
        return answer

    def is_present(self) -> bool:
        return self.module.present

    async def interrupted(self) -> None:
        await self.asked.wait()
        self.asked.clear()

    async def close(self) -> None:
        self.opened = False

    def _need_bus(self) -> None:
        if self.gone:
            raise UnavailableError("the bus is gone")


class World:
    """One node: bundles of emulated modules, and the driver of them."""

    def __init__(
        self,
        bundles: int = 1,
        modules: int = 2,
        *,
        seed: int = 1,
        profile: ModuleProfile | None = None,
        wanted: str = "auto",
        settings: CmisSettings | None = None,
        wires: type[Wires] = Wires,
    ) -> None:
        self.profile = profile or ModuleProfile()
        now = asyncio.get_running_loop().time()
        self.wires = [
            [wires(self.make(f"SN-{bundle}-{at}", seed * 100 + bundle * 10 + at, now)) for at in range(modules)]
            for bundle in range(bundles)
        ]
        peers = {path: f"n9/b0.p{int(path) - 1}" for path in EXTERNAL_PATHS}
        inventory = Inventory(4, tuple(BundleInventory(bundle, modules, peers) for bundle in range(bundles)))
        driven = [
            [
                DrivenModule(f"b{bundle}.m{at}", PagedMemory(wire), wanted, KNOWN_PARTS)
                for at, wire in enumerate(of_bundle)
            ]
            for bundle, of_bundle in enumerate(self.wires)
        ]
        self.driver = CmisDriver(
            "n0", "lab", inventory, driven, settings=settings or CmisSettings(telemetry=60.0), rng=Random(seed)
        )

    def make(self, serial: str, seed: int, now: float) -> Module:
        return Module(ModuleIdentity(serial), profile=self.profile, seed=seed, now=now, scale=QUICK)

    def module(self, bundle: int = 0, at: int = 0) -> Module:
        return self.wires[bundle][at].module

    def settle(self) -> None:
        """Let everything happen that modules do by themselves."""
        now = asyncio.get_running_loop().time()
        for of_bundle in self.wires:
            for wires in of_bundle:
                while (due := wires.module.next_event()) is not None:
                    wires.module.advance(max(due, now))
