"""GPU health from NVIDIA's management library, NVML.

GPUs are looked at every few seconds, and at once when one reports something. A call into NVML can hang for ever when a
driver is in trouble: then this source is lost, which says nothing about any GPU, and its thread is given up. What was
known stays known while it is away.

NVML is watched from its own thread (`guarded`), and judged here (`ledger`).
"""

import asyncio
import importlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TypeVar

from ringlight.agents.gpu.file import NvmlGpus
from ringlight.agents.gpu.guarded import Hanging, HangingError, Worker
from ringlight.agents.gpu.ledger import Ledger, differences
from ringlight.agents.gpu.memory import XidMemory
from ringlight.agents.gpu.metrics import HANGING, XIDS, GpuMeasured, measured
from ringlight.agents.gpu.nvml_calls import Looked, NvmlCalls
from ringlight.agents.ports import HealthEvent, Measurement
from ringlight.fabric.circuits import Fault
from ringlight.fabric.errors import RinglightError, UnavailableError
from ringlight.fabric.problem import Problem, under

_LONGEST_WAIT = 0.5  # seconds: an agent that stops waits for no longer
_HANGING = Hanging()
_T = TypeVar("_T")


def load_binding() -> ModuleType:
    """NVIDIA's binding.

    Raises:
        UnavailableError: it is not installed.
    """
    try:
        return importlib.import_module("pynvml")
    except ImportError as error:
        hint = "install it with `pip install 'ringlight[nvml]'`"
        raise UnavailableError("the binding of NVML is not installed", hint=hint) from error


def nvml_problems(nodes: Mapping[str, NvmlGpus], expected: int) -> list[Problem]:
    """What is wrong with an agent's file as far as NVML goes.

    Args:
        nodes: those of the file's ``nodes`` whose GPUs are watched with it.
        expected: GPUs of a node.
    """
    problems = []
    used: dict[str, str] = {}
    for name, node in nodes.items():
        path = f"nodes.{name}.gpus.nvml.devices"
        if not node.devices and len(nodes) > 1:
            problems.append(Problem(path, "is missing: several nodes have GPUs in this machine; say which are whose"))
        if node.devices and len(node.devices) != expected:
            problems.append(Problem(path, f"names {len(node.devices)} GPUs; the fabric's nodes have {expected}"))
        for at, device in enumerate(node.devices):
            place = under(path, at)
            if (known := used.setdefault(_normal(device), place)) != place:
                problems.append(Problem(place, f"is the same GPU as {known}"))
    return problems


def _normal(address: str) -> str:
    """A PCI address in one spelling: domains are written with four or eight digits, or left out."""
    domain, bus, device = f"0:{address.lower()}".split(":")[-3:]
    return f"{int(domain, 16):x}:{bus}:{device}"


class NvmlHealth:
    """`GpuHealth` of a node whose GPUs are in this machine.

    Args:
        gpus: that the node should have.
        file: how they are watched.
        memory: keeps the XIDs that are open.
        binding: loads the binding.
        hanging: threads of this process that were given up.
    """

    def __init__(
        self,
        gpus: int,
        file: NvmlGpus,
        memory: XidMemory,
        *,
        binding: Callable[[], ModuleType] = load_binding,
        hanging: Hanging = _HANGING,
    ) -> None:
        self._gpus = gpus
        self._file = file
        self._binding = binding
        self._hanging = hanging
        self._worker = Worker("NVML", hanging)
        self._ledger = Ledger(file.settled_after)
        self._memory = memory
        self._calls: NvmlCalls | None = None
        self._told: dict[str, Fault] = {}
        self._measured: dict[int, GpuMeasured] = {}
        self._xids: Counter[int] = Counter()

    async def open(self) -> None:
        """Load the library and look at the GPUs.

        Raises:
            UnavailableError: no library, no driver, or it does not answer.
        """
        self._ledger.interrupted()
        self._calls = calls = NvmlCalls(self._binding(), self._gpus, self._file.devices)
        await self._call(calls.start)
        await self._memory.recall(self._ledger, asyncio.get_running_loop().time())
        self._take(await self._call(calls.look))
        self._told = self._ledger.faults()
        await self._memory.keep(self._ledger)

    async def read(self) -> tuple[Fault, ...]:
        """Every fault that is open, as of the last look."""
        return tuple(self._ledger.faults().values())

    def measurements(self) -> Sequence[Measurement]:
        """As of the last look."""
        shown = [one for number, gpu in sorted(self._measured.items()) for one in measured(number, gpu)]
        xids = [Measurement(XIDS, {"gpu": str(number)}, self._xids[number]) for number in range(self._gpus)]
        return [*shown, *xids, Measurement(HANGING, {}, self._hanging.count)]

    async def events(self) -> AsyncIterator[HealthEvent]:
        """Faults that open and close, from `open` on.

        Raises:
            UnavailableError: the library hangs, or cannot be used any more.
        """
        if self._calls is None:
            raise UnavailableError("NVML is not open")
        calls, every = self._calls, self._file.every
        loop = asyncio.get_running_loop()
        look_at = loop.time() + every
        while True:
            pause = max(0.0, min(look_at - loop.time(), _LONGEST_WAIT))
            waited = await self._call(partial(calls.wait, pause))
            for number, xid in waited.xids:
                self._ledger.xid(number, xid, loop.time())
                self._xids[number] += 1
            for event in await self._news():
                yield event
            if not waited.could_wait:
                await asyncio.sleep(pause)
            if waited.something or loop.time() >= look_at:
                self._take(await self._call(calls.look))
                look_at = loop.time() + every
                for event in await self._news():
                    yield event

    async def close(self) -> None:
        """Let go of the library. One that hangs is left alone."""
        calls, self._calls = self._calls, None
        try:
            if calls is not None:
                await self._call(calls.stop)
        finally:
            self._worker.retire()

    async def _call(self, function: Callable[[], _T]) -> _T:
        try:
            return await self._worker.call(function, self._file.answer_within)
        except HangingError:
            self._calls = None  # never to be stopped: another thread is still inside it
            raise
        except RinglightError:
            raise
        except Exception as error:  # whatever a binding of another release raises, circuits are served
            hint = "install the release of nvidia-ml-py that belongs to the driver"
            raise UnavailableError(f"the binding of NVML failed: {error!r}", hint=hint) from error

    def _take(self, looked: Looked) -> None:
        self._ledger.look(looked.readings, asyncio.get_running_loop().time(), missing=looked.missing)
        self._measured = looked.measured

    async def _news(self) -> list[HealthEvent]:
        told, self._told = self._told, self._ledger.faults()
        await self._memory.keep(self._ledger)
        return differences(told, self._told)
