"""Settings of the judgement of GPU faults."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from ringlight.controller.health.settings import STRICT, LongSeconds, Seconds

_CODE = re.compile(r"xid:[1-9]\d{0,3}")


@dataclass(frozen=True, slots=True)
class GpuSettings:
    """How a GPU's faults are ruled on."""

    __pydantic_config__ = STRICT

    recovery_patience: Seconds = 60.0
    """Seconds a reset may take to cure what a reset cures; after that the node is bypassed. Most take 10 to 30."""

    repeats_fatal: Annotated[int, Field(ge=2, strict=True, json_schema_extra={"unit": "times"})] = 3
    """Times that the same GPU may report the same such fault within `repeat_window`: then resets are no cure."""

    repeat_window: LongSeconds = 3_600.0
    """Seconds within which a repetition counts."""

    link_guard: Seconds = 1.0
    """Seconds before a change of a node's circuits in which errors of its links are expected: reports may overtake
    the answer to a command."""

    link_settle: Seconds = 5.0
    """Seconds after a change of a node's circuits in which errors of its links are expected: they train anew."""

    alone_window: Seconds = 10.0
    """Seconds around an XID 45 in which another XID of its node explains it: a program that died is cleaned up."""

    overrides: Annotated[
        Mapping[str, Literal["ignore", "info", "link", "degraded", "recoverable", "fatal"]],
        Field(json_schema_extra={"unit": "by code"}),
    ] = field(default_factory=dict)
    """The site's last word on faults by code, such as ``xid:63: fatal``: it replaces what the driver asks for and what
    the catalogue says."""

    def __post_init__(self) -> None:
        wrong = sorted(code for code in self.overrides if not _CODE.fullmatch(code))
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not a code such as xid:79")
