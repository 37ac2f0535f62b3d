"""`CircuitDriver` of a node whose bundles are made of modules with a circuit switch inside.

Nothing about a bundle is remembered: what it selects is what all its modules say when they are asked. A module that
does not answer, or was replaced, makes its bundle unknown and nothing else; the others go on.

A node is the same as before as long as all its modules are. Each carries a token, left there by the driver and
forgotten by the module when it loses power; a module that comes back without it ends the events, and the node is
opened anew under another boot id.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from ringlight.agents.drivers.cmis import judgement
from ringlight.agents.drivers.cmis.judgement import Found
from ringlight.agents.drivers.cmis.measuring import measurements_of, powers_of
from ringlight.agents.drivers.cmis.module import DrivenModule, Look, Monitors
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble
from ringlight.agents.drivers.event_stream import EventStream
from ringlight.agents.ports import DriverEvent, HardwareIdentity, Measurement, OpticalPower, Readout, SwitchOutcome
from ringlight.fabric.circuits import Path, PortKey
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.inventory import Inventory

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_TOKEN_MARK = b"RL"
_TOKEN_RANDOM_BYTES = 6


@dataclass(frozen=True, slots=True)
class CmisSettings:
    """How modules are watched.

    Attributes:
        poll: seconds between looks at a module that does not ask for one.
        telemetry: seconds between measurements, and between looks for modules that were restarted or replaced.
        start_within: seconds that all modules of a node may take to come up; less than the agent gives its driver.
        try_again: seconds between attempts to bring up a module that did not come up.
    """

    poll: float = 1.0
    telemetry: float = 5.0
    start_within: float = 4.5
    try_again: float = 5.0


class CmisDriver:
    """Drives the bundles of one node.

    Args:
        node: its name.
        fabric: name of the fabric it was cabled for.
        inventory: as the fabric file has it.
        bundles: the modules of each bundle.
        settings: how they are watched.
        rng: of tokens.
    """

    def __init__(
        self,
        node: str,
        fabric: str,
        inventory: Inventory,
        bundles: Sequence[Sequence[DrivenModule]],
        *,
        settings: CmisSettings,
        rng: Random,
    ) -> None:
        self._node = node
        self._fabric = fabric
        self._inventory = inventory
        self._bundles = bundles
        self._modules = {module.name: module for modules in bundles for module in modules}
        self._names = [[module.name for module in modules] for modules in bundles]
        self._cabled = [(number, path) for number, bundle in enumerate(inventory.bundles) for path in bundle.peers]
        self._settings = settings
        self._rng = rng
        self._token = b""
        self._found: dict[str, Found] = {}
        self._failed: dict[str, ModuleTroubleError] = {}
        self._monitors: dict[str, Monitors] = {}
        self._told: Readout | None = None
        self._stream = EventStream()
        self._watcher: asyncio.Task[None] | None = None

    async def open(self) -> HardwareIdentity:
        """Find out who the modules are and bring them up. Every switch stays as it is.

        Raises:
            UnavailableError: there is no way to any module.
        """
        tokens = await self._start_all()
        self._token = await self._common_token(tokens)
        self._stream = EventStream()
        self._failed.clear()
        self._told = None
        await self._look_at(self._modules)
        self._watcher = asyncio.get_running_loop().create_task(self._watch(), name=f"modules of {self._node}")
        return HardwareIdentity(self._fabric, self._token.hex(), self._inventory)

    async def read(self) -> Readout:
        """Look at every module now.

        Raises:
            UnavailableError: there is no way to any module.
        """
        return await self._look_at(self._modules)

    async def switch(self, bundle: int, path: Path) -> SwitchOutcome:
        """Select a path on all modules of a bundle at once, and read back what they select.

        When they do not all succeed, a fault says which module failed, and the bundle is whatever is read back then:
        `UNKNOWN` unless all of them agree.

        Raises:
            UnavailableError: there is no way to any module.
        """
        modules = self._bundles[bundle]
        outcomes = await _together(self._move(module, path) for module in modules)
        found = await self._look_at({module.name: module for module in modules})
        seconds = max((outcome for outcome in outcomes if isinstance(outcome, float)), default=0.0)
        return SwitchOutcome(found.circuits[bundle], seconds)

    async def powers(self) -> Mapping[PortKey, OpticalPower]:
        """Measure the light at every port that is selected now.

        Raises:
            UnavailableError: there is no way to any module.
        """
        found = (await self._look_at(self._modules)).circuits
        await self._measure_all()
        return powers_of(self._names, self._cabled, found, self._looks(), self._monitors)

    def measurements(self) -> Sequence[Measurement]:
        """What was last measured."""
        return measurements_of(self._names, self._looks(), self._monitors, self._failed)

    def events(self) -> AsyncIterator[DriverEvent]:
        """Changes of light and of module faults, from `open` on.

        Raises:
            UnavailableError: there is no way to any module, or one was restarted or replaced.
        """
        return self._stream.events()

    async def close(self) -> None:
        """Let go of the modules, leaving every switch as it is."""
        self._stream.end(f"the modules of {self._node} were let go")
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.wait([watcher])
            if not watcher.cancelled() and (error := watcher.exception()) is not None:
                _log.error("node %s: the watch over its modules failed", self._node, exc_info=error)
        await _together(module.close() for module in self._modules.values())

    # -- opening -------------------------------------------------------------------------------------------------------

    async def _start_all(self) -> dict[str, bytes]:
        """Bring every module up; the tokens of those that came up."""
        started = await _together(self._start(module) for module in self._modules.values())
        lost = [each for each in started if isinstance(each, UnavailableError)]
        if len(lost) == len(started):
            raise lost[0]
        tokens: dict[str, bytes] = {}
        for name, outcome in zip(self._modules, started, strict=True):
            if isinstance(outcome, bytes):
                tokens[name] = outcome
            else:
                _log.warning("node %s: module %s: %s", self._node, name, outcome)
                self._found[name] = (
                    outcome
                    if isinstance(outcome, ModuleTroubleError)
                    else ModuleTroubleError(Trouble.DEAD, str(outcome))
                )
        return tokens

    async def _start(self, module: DrivenModule) -> bytes | ModuleTroubleError | UnavailableError:
        try:
            async with asyncio.timeout(self._settings.start_within):
                return await module.start()
        except TimeoutError:
            return ModuleTroubleError(Trouble.DOWN, f"it did not come up within {self._settings.start_within:g} s")
        except (ModuleTroubleError, UnavailableError) as error:
            return error

    async def _common_token(self, tokens: Mapping[str, bytes]) -> bytes:
        """The token that all modules carry; when they do not, a new one, which they carry from now on."""
        found = set(tokens.values())
        token = found.pop() if len(found) == 1 else b""
        if token.startswith(_TOKEN_MARK):
            return token
        token = _TOKEN_MARK + self._rng.randbytes(_TOKEN_RANDOM_BYTES)
        for name in tokens:
            try:
                await self._modules[name].leave_token(token)
            except ModuleTroubleError as trouble:
                self._found[name] = trouble
        return token

    # -- looking -------------------------------------------------------------------------------------------------------

    async def _look_at(self, modules: Mapping[str, DrivenModule]) -> Readout:
        """Look at modules, tell what changed, and say what is known of the whole node."""
        awake = (module for module in modules.values() if module.identity is not None)
        await _together(self._look(module) for module in awake)
        after = judgement.readout(self._names, self._cabled, self._found, self._failed)
        if self._told is not None:
            self._stream.put(judgement.changes(self._told, after))
        self._told = after
        return after

    async def _look(self, module: DrivenModule) -> None:
        """Look at one module. What is seen is noted at once: another look at it may come before others are done."""
        try:
            self._found[module.name] = await module.look()
        except ModuleTroubleError as trouble:
            self._found[module.name] = trouble

    async def _move(self, module: DrivenModule, path: Path) -> float | ModuleTroubleError:
        """Seconds that the light was away, or why a module did not get to a path."""
        try:
            state = await module.move(path)
        except ModuleTroubleError as trouble:
            _log.warning("node %s: module %s did not get to %s: %s", self._node, module.name, path.name, trouble)
            self._failed[module.name] = trouble
            return trouble
        self._failed.pop(module.name, None)
        return state.away

    def _looks(self) -> dict[str, Look]:
        return {name: found for name, found in self._found.items() if isinstance(found, Look)}

    async def _measure_all(self) -> None:
        for name in self._looks():
            try:
                self._monitors[name] = await self._modules[name].measure()
            except ModuleTroubleError as trouble:
                self._monitors.pop(name, None)
                self._found[name] = trouble

    # -- watching ------------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        reason = f"the watch over the modules of {self._node} ended"
        try:
            async with asyncio.TaskGroup() as group:
                for module in self._modules.values():
                    group.create_task(self._watch_one(module))
                group.create_task(self._keep_measuring())
        except* UnavailableError as errors:
            reason = str(errors.exceptions[0])
        finally:
            self._stream.end(reason)

    async def _watch_one(self, module: DrivenModule) -> None:
        """Look whenever it asks for it, and now and then; try again where it never came up."""
        while True:
            if module.identity is None:
                await asyncio.sleep(self._settings.try_again)
                if isinstance(await self._start(module), bytes):
                    raise UnavailableError(f"module {module.name} of {self._node} came up: the node is opened anew")
                continue
            try:
                async with asyncio.timeout(self._settings.poll):
                    await module.interrupted()
            except TimeoutError:
                pass
            await self._look_at({module.name: module})

    async def _keep_measuring(self) -> None:
        """Measure, and find modules that were restarted or replaced: those do not know the token any more."""
        while True:
            await self._measure_all()
            for name in self._looks():
                try:
                    token = await self._modules[name].token()
                except ModuleTroubleError as trouble:
                    self._found[name] = trouble
                    continue
                if token != self._token:
                    raise UnavailableError(f"module {name} of {self._node} was restarted or replaced: opened anew")
            await asyncio.sleep(self._settings.telemetry)


async def _together(calls: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """What calls return that are made at the same time. The first that fails ends the others, and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
