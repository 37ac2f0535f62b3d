"""Every setting of the controller, with its unit and the reason for its default.

Settings are frozen dataclasses, read from a YAML file whose sections are the groups below. Unknown keys and values
out of range are errors that name the key and what was expected.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ringlight.fabric.errors import InvalidError

Seconds = Annotated[float, Field(gt=0, le=86_400, strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """How silence is measured."""

    __pydantic_config__ = _STRICT

    interval: Seconds = 1.0
    """Seconds between heartbeats of an agent; also the rate at which the controller says that it hears."""

    suspect_after: Count = 3
    """Missed intervals until a node is SUSPECT and nothing new is begun there."""

    confirm_after: Count = 5
    """Missed intervals until silence may count, together with darkness, as failure."""

    def __post_init__(self) -> None:
        if self.confirm_after < self.suspect_after:
            raise ValueError(f"confirm_after must be at least suspect_after, {self.suspect_after}")


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """How quickly evidence becomes a verdict, and how slowly trust returns."""

    __pydantic_config__ = _STRICT

    start_grace: Seconds = 10.0
    """Seconds after a start in which silence means nothing: agents are still dialling in."""

    light_settle: Seconds = 0.02
    """Seconds a hop must be dark before the fibre is blamed: the report that explains it may be on its way."""

    probation: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)] = 600.0
    """Seconds a node must be free of faults before it may be used again: fast down, slow up."""

    dead_hop_retest: Seconds = 3600.0
    """Seconds after which a dead hop may be tried again: a dark fibre cannot tell that it was repaired."""


@dataclass(frozen=True, slots=True)
class ChangeSettings:
    """How long the steps of a change may take."""

    __pydantic_config__ = _STRICT

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

    def __post_init__(self) -> None:
        least = self.apply_timeout + self.light_timeout
        if self.revert_after <= least:
            raise ValueError(f"revert_after must be more than apply_timeout and light_timeout together, {least:g}")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What is kept on disk."""

    __pydantic_config__ = _STRICT

    events_kept: Count = 100_000
    """Newest events kept in the log: months of an ordinary fabric."""

    generation_block: Count = 1_000
    """Generations reserved on disk at once, so that no change waits for the disk to number itself."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the controller."""

    __pydantic_config__ = _STRICT

    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    health: HealthSettings = field(default_factory=HealthSettings)
    change: ChangeSettings = field(default_factory=ChangeSettings)
    store: StoreSettings = field(default_factory=StoreSettings)

    @property
    def suspect_seconds(self) -> float:
        """Silence after which a node is SUSPECT."""
        return self.heartbeat.interval * self.heartbeat.suspect_after

    @property
    def confirm_seconds(self) -> float:
        """Silence after which it may count as failure, together with darkness."""
        return self.heartbeat.interval * self.heartbeat.confirm_after


def load_settings(path: Path | None) -> Settings:
    """Read settings from a YAML file; without one, the defaults.

    Raises:
        InvalidError: unreadable, not YAML, an unknown key or a value out of range; every mistake is listed.
    """
    if path is None:
        return Settings()
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path} is not YAML: {error}") from error
    try:
        return TypeAdapter(Settings).validate_python({} if document is None else document)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in problem['loc']) or 'file'}: {problem['msg']}"
            for problem in error.errors(include_url=False)
        ]
        raise InvalidError(
            f"{path}: " + "; ".join(problems),
            hint="sections are heartbeat, health, change and store; docs/operations.md lists their keys",
        ) from error
