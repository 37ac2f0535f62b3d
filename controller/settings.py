"""Every setting of the controller, with its unit and the reason for its default.

Settings are frozen dataclasses; the groups below are the sections of the configuration file (`configuration_file`).
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from ringlight.controller.health.gpu_settings import GpuSettings
from ringlight.controller.health.settings import (
    STRICT,
    BreakerSettings,
    Count,
    DoubtSettings,
    FlapSettings,
    HealthSettings,
    HeartbeatSettings,
    ProbeSettings,
    Seconds,
)


@dataclass(frozen=True, slots=True)
class ChangeSettings:
    """How long the steps of a change may take."""

    __pydantic_config__ = STRICT

    apply_timeout: Seconds = 1.0
    """Seconds an agent may take to answer a command; after that the plan is made again without its node."""

    told_node: Seconds = 0.005
    """Seconds more, for both of these, for each node that is told at the same time: a fan-out takes its time."""

    light_timeout: Seconds = 1.0
    """Seconds from the last answer until both ends of every hop must see light."""

    replan_pause: Seconds = 0.00002
    """Seconds after a plan of a job, for each node that it had to look at, until the job is planned again: evidence
    that comes meanwhile is planned together, so that the answers to a large change cannot drown the controller in
    plans. A repair looks at the nodes between a fault and the nearest spares, a new job at all."""

    revert_after: Seconds = 10.0
    """Seconds after which agents undo a planned change that was not confirmed."""

    retry_interval: Seconds = 10.0
    """Seconds between attempts to bring an idle node back to loopback after it refused or did not answer."""

    drift: Literal["report", "repair"] = "report"
    """What is done when a node of a ring selects something that nobody told it: `report` tells it and waits for
    darkness or a person; `repair` brings it back at once."""

    def __post_init__(self) -> None:
        least = self.apply_timeout + self.light_timeout
        if self.revert_after <= least:
            raise ValueError(f"revert_after must be more than apply_timeout and light_timeout together, {least:g}")


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How agents that dial are let in."""

    __pydantic_config__ = STRICT

    rate: Annotated[float, Field(gt=0, le=100_000, strict=True, json_schema_extra={"unit": "agents/s"})] = 200.0
    """Agents let in a second: a hello costs more than any other message, and a thousand of them at once would hold up
    the news of a fault."""

    burst: Annotated[int, Field(ge=1, strict=True, json_schema_extra={"unit": "agents"})] = 50
    """Agents that may come at once without waiting."""

    longest_wait: Annotated[float, Field(gt=0, le=5, strict=True, json_schema_extra={"unit": "s"})] = 2.0
    """Seconds an agent may have to wait for its turn; with more it is sent away at once, and dials again after a pause.
    At most half of what an agent waits for a welcome: one that gives up in the queue dials again, and makes the herd
    larger."""


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How a cabling audit goes."""

    __pydantic_config__ = STRICT

    settle: Seconds = 0.1
    """Seconds from the last answer of a round until agents are asked where light is: a module may take 0.1 s to notice
    that light came or went."""

    look_timeout: Seconds = 4.0
    """Seconds an agent may take to read and measure a node; after that the audit goes on without it."""

    highest_loss: Annotated[float, Field(gt=0, le=60, strict=True, json_schema_extra={"unit": "dB"})] = 3.0
    """dB that a fibre may lose; with more it counts as dirty. A clean one of a few metres with two connectors loses
    less than 1."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What is kept on disk."""

    __pydantic_config__ = STRICT

    events_kept: Count = 100_000
    """Newest events kept in the log: months of an ordinary fabric."""

    generation_block: Count = 1_000
    """Generations reserved on disk at once, so that no change waits for the disk to number itself."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The live page."""

    __pydantic_config__ = STRICT

    hosts: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Names with a dot under which browsers reach the page, such as `fabric.example.com`. Addresses and names without
    a dot need no telling; any other name is refused, since a stranger's web page could make its own point here."""

    watchers: Annotated[int, Field(ge=1, le=10_000, strict=True, json_schema_extra={"unit": "pages"})] = 64
    """Pages that may follow events at the same time; one more is told so, and goes on without live events."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the controller."""

    __pydantic_config__ = STRICT

    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    health: HealthSettings = field(default_factory=HealthSettings)
    gpu: GpuSettings = field(default_factory=GpuSettings)
    doubt: DoubtSettings = field(default_factory=DoubtSettings)
    breaker: BreakerSettings = field(default_factory=BreakerSettings)
    flap: FlapSettings = field(default_factory=FlapSettings)
    probe: ProbeSettings = field(default_factory=ProbeSettings)
    change: ChangeSettings = field(default_factory=ChangeSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    page: PageSettings = field(default_factory=PageSettings)

    def __post_init__(self) -> None:
        most = self.heartbeat.confirm_after - 1
        if self.doubt.loop_lag >= most:
            # A stall shows at the next timer, at most one interval after it began.
            raise ValueError(f"doubt.loop_lag must be less than heartbeat.confirm_after - 1, {most}")

    @property
    def suspect_seconds(self) -> float:
        """Silence after which a node is SUSPECT."""
        return self.heartbeat.interval * self.heartbeat.suspect_after

    @property
    def confirm_seconds(self) -> float:
        """Silence after which it may count as failure, together with darkness."""
        return self.heartbeat.interval * self.heartbeat.confirm_after
