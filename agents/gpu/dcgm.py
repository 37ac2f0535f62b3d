"""GPU health from the metrics page of a DCGM exporter: for sites that run one already."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import aiohttp

from ringlight.agents.gpu.dcgm_page import PageWatch, read_page
from ringlight.agents.gpu.file import DcgmGpus
from ringlight.agents.gpu.ledger import differences
from ringlight.agents.gpu.memory import XidMemory
from ringlight.agents.gpu.metrics import XIDS, measured
from ringlight.agents.ports import HealthEvent, Measurement
from ringlight.fabric.circuits import Fault
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.problem import Problem

_MOST_BYTES = 1 << 24
_HTTP_OK = 200


def dcgm_problems(nodes: Mapping[str, DcgmGpus], expected: int) -> list[Problem]:
    """What is wrong with an agent's file as far as DCGM exporters go.

    Args:
        nodes: those of the file's ``nodes`` whose GPUs are watched by one.
        expected: GPUs of a node.
    """
    problems = []
    used: dict[tuple[str, int], str] = {}
    for name, node in nodes.items():
        path = f"nodes.{name}.gpus.dcgm.devices"
        if node.devices and len(node.devices) != expected:
            problems.append(Problem(path, f"names {len(node.devices)} GPUs; the fabric's nodes have {expected}"))
        problems += [
            Problem(path, f"GPU {device} of this exporter is one of {known}'s")
            for device in node.devices or range(expected)
            if (known := used.setdefault((node.url, device), name)) != name
        ]
        if len(set(node.devices)) < len(node.devices):
            problems.append(Problem(path, "names a GPU twice"))
    return problems


class DcgmHealth:
    """`GpuHealth` of a node whose GPUs are on an exporter's page.

    Args:
        gpus: that the node should have.
        file: where the page is, and how it is watched.
        memory: keeps the XIDs that are open.
    """

    def __init__(self, gpus: int, file: DcgmGpus, memory: XidMemory) -> None:
        self._memory = memory
        self._file = file
        self._gpus = gpus
        self._watch = PageWatch(file.devices or range(gpus), file.settled_after)
        self._client: aiohttp.ClientSession | None = None
        self._told: dict[str, Fault] = {}

    async def open(self) -> None:
        """Look at the page for the first time.

        Raises:
            UnavailableError: it cannot be had, or says nothing of these GPUs.
        """
        self._watch.ledger.interrupted()
        self._client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._file.answer_within))
        await self._memory.recall(self._watch.ledger, asyncio.get_running_loop().time())
        await self._look()
        self._told = self._watch.ledger.faults()

    async def read(self) -> tuple[Fault, ...]:
        """Every fault that is open, as of the last page."""
        return tuple(self._watch.ledger.faults().values())

    def measurements(self) -> Sequence[Measurement]:
        """As of the last page."""
        shown = [one for number, gpu in sorted(self._watch.measured.items()) for one in measured(number, gpu)]
        xids = [Measurement(XIDS, {"gpu": str(number)}, self._watch.xids[number]) for number in range(self._gpus)]
        return [*shown, *xids]

    async def events(self) -> AsyncIterator[HealthEvent]:
        """Differences between a page and the next.

        Raises:
            UnavailableError: the page cannot be had any more.
        """
        while True:
            await asyncio.sleep(self._file.every)
            await self._look()
            told, self._told = self._told, self._watch.ledger.faults()
            for event in differences(told, self._told):
                yield event

    async def close(self) -> None:
        """Let go of the connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _look(self) -> None:
        hint = "is the exporter running, and is this its page?"
        try:
            page = await asyncio.to_thread(read_page, await self._page())
            self._watch.take(page, asyncio.get_running_loop().time())
            await self._memory.keep(self._watch.ledger)
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or f"no answer within {self._file.answer_within:g} s"
            raise UnavailableError(f"cannot get {self._file.url}: {reason}", hint=hint) from error
        except ValueError as error:
            raise UnavailableError(f"{self._file.url} is no DCGM page: {error}", hint=hint) from error

    async def _page(self) -> str:
        if self._client is None:
            raise UnavailableError("the exporter is not open")
        async with self._client.get(self._file.url) as reply:
            if reply.status != _HTTP_OK:
                raise ValueError(f"it answers with status {reply.status}")
            page = bytearray()
            async for chunk in reply.content.iter_any():
                page += chunk
                if len(page) > _MOST_BYTES:
                    raise ValueError(f"it has more than {_MOST_BYTES} bytes")
            return page.decode(errors="replace")
