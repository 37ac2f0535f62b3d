"""Settings of the judgement of nodes: each with its unit, its default, and the reason for it.

Read as sections of the controller's configuration (`ringlight.controller.settings`).
"""

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=86_400, strict=True, json_schema_extra={"unit": "s"})]
LongSeconds = Annotated[float, Field(gt=0, le=31_536_000, strict=True, json_schema_extra={"unit": "s"})]
SecondsOrZero = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False, json_schema_extra={"unit": "s"})]
Count = Annotated[int, Field(ge=1, strict=True)]
CountOrZero = Annotated[int, Field(ge=0, strict=True)]
Intervals = Annotated[int, Field(ge=1, strict=True, json_schema_extra={"unit": "heartbeats"})]
Share = Annotated[float, Field(gt=0, le=1, strict=True, json_schema_extra={"unit": "share"})]
Points = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False, json_schema_extra={"unit": "points"})]

STRICT = ConfigDict(extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """How silence is measured."""

    __pydantic_config__ = STRICT

    interval: Seconds = 1.0
    """Seconds between heartbeats of an agent; also the rate at which the controller says that it hears."""

    suspect_after: Intervals = 3
    """Missed intervals until a node is SUSPECT and nothing new is begun there."""

    confirm_after: Intervals = 5
    """Missed intervals until silence may count, together with darkness, as failure."""

    def __post_init__(self) -> None:
        # The first node that is confirmed silent must find suspect all that fell silent with it, a beat later.
        if self.confirm_after <= self.suspect_after:
            raise ValueError(f"confirm_after must be more than suspect_after, {self.suspect_after}")


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """How quickly evidence becomes a verdict, and how slowly trust returns."""

    __pydantic_config__ = STRICT

    start_grace: Seconds = 10.0
    """Seconds after a start in which silence means nothing: agents are still dialling in."""

    light_settle: Seconds = 0.02
    """Seconds a hop must be dark before the fibre is blamed: the report that explains it may be on its way."""

    burst_window: Seconds = 10.0
    """Seconds after a first fault in a ring in which faults of its other nodes that may be consequences of it are laid
    to it: one fault makes all its neighbours complain, within seconds. What is still open then is judged by itself."""

    probation: SecondsOrZero = 600.0
    """Seconds a node must be free of faults before it may be used again: fast down, slow up."""

    dead_hop_retest: Seconds = 3600.0
    """Seconds after which a dead hop may be tried again: a dark fibre cannot tell that it was repaired."""

    stall_valid: Seconds = 60.0
    """Seconds for which a launcher's word that its job stalled counts against a node of it that is silent, or falls
    silent meanwhile."""

    unreachable_bypass_after: SecondsOrZero = 0.0
    """Seconds after which the silence of a node in a ring counts as failure though its light is on; 0 for never, since
    a hung management network would cost a ring that works. For sites that have no second witness."""


@dataclass(frozen=True, slots=True)
class DoubtSettings:
    """When the controller mistrusts itself rather than the fabric: silence is not judged then."""

    __pydantic_config__ = STRICT

    loop_lag: Annotated[float, Field(gt=0, strict=True, json_schema_extra={"unit": "heartbeats"})] = 1.0
    """Heartbeat intervals that the event loop may be late for its own timers: what agents said meanwhile is not read
    yet. Also what a jump of the clock looks like."""

    quorum: Share = 0.5
    """Share of the known agents that must speak: if more fall silent than that, it is more likely us who are deaf."""


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When so much fails at once that a person must look first."""

    __pydantic_config__ = STRICT

    share: Share = 0.2
    """Share of the fabric's nodes that may newly fail within the window; with more, nothing moves until a reset."""

    burst: Count = 8
    """Nodes that may newly fail within the window however small the fabric is: a rack's power feed, a switch."""

    window: Seconds = 300.0
    """Seconds for which a failure counts as new."""


@dataclass(frozen=True, slots=True)
class FlapSettings:
    """How a node that fails again and again loses trust: the penalty of each flap halves with time."""

    __pydantic_config__ = STRICT

    penalty: Points = 1_000.0
    """Points for each time the node failed or degraded."""

    suppress: Points = 2_000.0
    """Points from which it is used no more, however well it is."""

    reuse: Points = 750.0
    """Points below which it may be used again."""

    half_life: Seconds = 900.0
    """Seconds in which points halve."""

    longest: Seconds = 3_600.0
    """Seconds of suppression at most, however often it flapped; quarantine is for what is worse."""

    quarantine_faults: CountOrZero = 3
    """Failures within `faults_window` after which it is quarantined until a person releases it; 0 for never."""

    faults_window: LongSeconds = 604_800.0
    """Seconds (7 days) for which a failure counts towards quarantine."""

    quarantine_flaps: CountOrZero = 3
    """Flaps within `flaps_window` after which it is quarantined; 0 for never."""

    flaps_window: LongSeconds = 43_200.0
    """Seconds (12 hours) for which a flap counts towards quarantine."""

    def __post_init__(self) -> None:
        if self.reuse >= self.suppress:
            raise ValueError(f"reuse must be less than suppress, {self.suppress:g}")
        least = self.half_life * math.log2(self.suppress / self.reuse)
        if self.longest < least:  # points are capped where suppression would last so long
            raise ValueError(f"longest must be at least {least:.0f}, or no node would ever be suppressed")


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """A site's own second witness for silent nodes: a program that knows whether a machine is up."""

    __pydantic_config__ = STRICT

    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Program and arguments; ``{node}`` becomes the node's name. Its exit status says 0: up, 1: down, anything else:
    not known. Without one, nobody is asked."""

    timeout: Seconds = 5.0
    """Seconds it may take; one that takes longer does not know."""

    interval: Seconds = 30.0
    """Seconds until it is asked again while a node stays silent."""
