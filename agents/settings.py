"""Every setting of an agent, with its unit and the reason for its default."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=3_600, strict=True, json_schema_extra={"unit": "s"})]


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How an agent behaves. The controller's Welcome says how often it must be heard."""

    __pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    switch_timeout: Seconds = 0.5
    """Seconds a bundle may take to switch and read back. Optics need 80 µs; the rest is bus and driver."""

    read_timeout: Seconds = 1.0
    """Seconds a reading of a whole node may take."""

    measure_timeout: Seconds = 2.0
    """Seconds a measurement of the light of a whole node may take: modules are asked lane by lane."""

    open_timeout: Seconds = 5.0
    """Seconds hardware may take to be opened or closed; after that it counts as gone and is tried again."""

    backoff_first: Seconds = 0.1
    """Seconds: upper bound of the first pause before dialling again, or opening hardware again."""

    backoff_cap: Seconds = 5.0
    """Seconds: upper bound of any such pause. Small, so that a short outage does not become a long one. A session
    that lived for so long was a good one, and the next pause is a first one again."""

    welcome_timeout: Seconds = 10.0
    """Seconds the controller may take to answer a hello."""

    duplicate_patience: Seconds = 5.0
    """Seconds to go on dialling while the controller says that this id has a live session: our own former one, if
    this agent crashed, ends within three heartbeats."""

    fence_interval: Seconds = 1.0
    """Seconds between writes of applied generations: nothing waits for them, so a storm of commands costs one."""

    goodbye_timeout: Seconds = 1.0
    """Seconds to say goodbye when the agent stops."""

    outbox: Annotated[int, Field(ge=1, strict=True, json_schema_extra={"unit": "reports"})] = 10_000
    """Reports that may wait to be sent; with more, the session ends and the next hello carries everything."""
