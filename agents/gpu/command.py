"""GPU health from a command of the site's own: whatever vendor, whatever tool, as long as it prints what is wrong now.

The command is run every few seconds and prints one JSON document: every fault that is open at that moment. A fault that
a later run does not name is over, because the command said what there is; a run that fails, says nothing or something
else is no such word: then this source is lost, and what was known stays known.

A run is given its time and its room. One that takes more is killed with everything it started.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ringlight.agents.gpu.file import CommandGpus
from ringlight.agents.gpu.ledger import differences
from ringlight.agents.gpu.metrics import TEMPERATURE
from ringlight.agents.gpu.program import run
from ringlight.agents.ports import HealthEvent, Measurement
from ringlight.fabric.circuits import HEALTH_FEED_LOST, Fault, FaultClass
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.problem import Problem

_MOST_FAULTS = 1_000
_HINT = "docs/agent.md says what it must print"

_MOST_GPUS = 1_024
_Gpu = Annotated[int, Field(ge=0, lt=_MOST_GPUS)]
_GpuKey = Annotated[int, Field(ge=0, lt=_MOST_GPUS, strict=False)]  # keys of JSON are text


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ReportedFault(_Model):
    """One fault.

    Attributes:
        gpu: number of the GPU in its node; left out for what concerns all of them.
        code: of the cause; ``xid:N`` is ruled on by the controller.
        fault_class: how grave it is, when the controller does not know better.
        text: one line for a person.
        recovery: what the driver wants done.
    """

    gpu: _Gpu | None = None
    code: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9:._-]{0,62}$")]
    fault_class: Annotated[Literal["info", "degraded", "fatal"], Field(alias="class")] = "degraded"
    text: Annotated[str, Field(max_length=500)] = ""
    recovery: Annotated[str, Field(max_length=60)] = ""


class Report(_Model):
    """What the command prints.

    Attributes:
        faults: every one that is open now.
        temperatures: of GPUs, in °C, by number.
    """

    faults: Annotated[list[ReportedFault], Field(max_length=_MOST_FAULTS)]
    temperatures: Annotated[
        dict[Annotated[int, Field(ge=0, lt=1_024, strict=False)], float], Field(max_length=1_024)
    ] = {}


def read_report(output: bytes) -> Report:
    """What a command printed.

    Raises:
        ValueError: it is not a report, in words.
    """
    try:
        report = Report.model_validate_json(output)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise ValueError(f"{at}: {first['msg']}" if at else first["msg"]) from error
    if any(fault.code == HEALTH_FEED_LOST for fault in report.faults):
        raise ValueError(f"the code {HEALTH_FEED_LOST} is the agent's own; let the command fail instead")
    return report


def faults_of(report: Report) -> dict[str, Fault]:
    """The faults of a report by id. One that is reported twice for a GPU is numbered."""
    faults: dict[str, Fault] = {}
    times: Counter[tuple[str, str]] = Counter()
    for one in report.faults:
        component = "gpus" if one.gpu is None else f"gpu{one.gpu}"
        times[component, one.code] += 1
        number = times[component, one.code]
        fault_id = f"{component}:{one.code}" + (f"#{number}" if number > 1 else "")
        fault_class = FaultClass[one.fault_class.upper()]
        faults[fault_id] = Fault(fault_id, component, fault_class, one.code, " ".join(one.text.split()), one.recovery)
    return faults


def command_problems(nodes: Mapping[str, CommandGpus], open_timeout: float) -> list[Problem]:
    """What is wrong with an agent's file as far as commands go."""
    return [
        Problem(
            f"nodes.{name}.gpus.command.answer_within",
            f"must be less than settings.open_timeout, {open_timeout:g}: the first run is part of opening",
        )
        for name, node in nodes.items()
        if node.answer_within >= open_timeout
    ]


class CommandHealth:
    """`GpuHealth` of a node, by a command."""

    def __init__(self, file: CommandGpus) -> None:
        self._file = file
        self._faults: dict[str, Fault] = {}
        self._told: dict[str, Fault] = {}
        self._temperatures: dict[int, float] = {}

    async def open(self) -> None:
        """Run the command for the first time.

        Raises:
            UnavailableError: it cannot be run, fails, takes too long, or prints something else.
        """
        await self._look()
        self._told = self._faults

    async def read(self) -> tuple[Fault, ...]:
        """Every fault that the last run named."""
        return tuple(self._faults.values())

    def measurements(self) -> Sequence[Measurement]:
        """What the last run measured."""
        return [
            Measurement(TEMPERATURE, {"gpu": str(gpu)}, degrees) for gpu, degrees in sorted(self._temperatures.items())
        ]

    async def events(self) -> AsyncIterator[HealthEvent]:
        """Differences between a run and the next.

        Raises:
            UnavailableError: a run failed.
        """
        while True:
            await asyncio.sleep(self._file.every)
            await self._look()
            told, self._told = self._told, self._faults
            for event in differences(told, self._told):
                yield event

    async def close(self) -> None:
        """Nothing to let go of: no run outlives whoever waits for it."""

    async def _look(self) -> None:
        name = self._file.run[0]
        try:
            report = read_report(await run(self._file.run, self._file.answer_within))
        except ValueError as error:
            raise UnavailableError(f"{name} printed no report: {error}", hint=_HINT) from error
        self._faults = faults_of(report)
        self._temperatures = dict(report.temperatures)
