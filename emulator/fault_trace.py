"""Reads a fault trace: which server failed when, with what, and when it was well again.

The format is that of the public 348-day trace: a JSON list of ``{node_id, event_time (days), event_type
(fault_start|fault_end), fault_type {Level, Class, Desc}}``. Faults of one server may overlap, several servers may fail
at one time stamp, and a fault may end in the moment it begins.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ringlight.fabric.errors import InvalidError

SECONDS_PER_DAY = 86_400.0
_SHOWN = 5  # problems of a file that are listed


class _FaultType(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    level: str = Field(alias="Level")
    fault_class: str = Field(alias="Class")
    description: str = Field(alias="Desc")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    node_id: str
    event_time: float = Field(ge=0, allow_inf_nan=False)
    event_type: Literal["fault_start", "fault_end"]
    fault_type: _FaultType


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """A fault begins or ends.

    Attributes:
        seconds: since the beginning of the trace.
        server: as the trace names it.
        fault: number of the fault, in order of beginnings; the same at its end.
        begins: whether it begins here.
        fault_class: such as ``GPU``.
        description: such as ``GPU Lost``.
    """

    seconds: float
    server: str
    fault: int
    begins: bool
    fault_class: str
    description: str


def read_trace(path: Path) -> tuple[TraceEvent, ...]:
    """Read a trace; its events by time, and in the file's order within a time stamp.

    An end belongs to the oldest open fault of the same type on its server, or to the oldest open one of any type.

    Raises:
        InvalidError: unreadable, not of the format, or an end without a beginning; with the entry's number.
    """
    try:
        entries = TypeAdapter(list[_Entry]).validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidError(f"cannot read the fault trace {path}: {error.strerror}", hint="check the path") from error
    except ValidationError as error:
        problems = [
            f"entry {'.'.join(map(str, problem['loc'])) or 'list'}: {problem['msg']}"
            for problem in error.errors(include_url=False)
        ]
        raise InvalidError(
            f"{path} is not a fault trace: " + "; ".join(problems[:_SHOWN]),
            hint="a list of {node_id, event_time in days, event_type, fault_type {Level, Class, Desc}}",
        ) from error
    return tuple(_pair(entries, path))


def _pair(entries: list[_Entry], path: Path) -> list[TraceEvent]:
    open_faults: dict[str, list[tuple[int, _FaultType]]] = defaultdict(list)
    events = []
    faults = 0
    for number, entry in sorted(enumerate(entries), key=lambda item: item[1].event_time):
        of_server = open_faults[entry.node_id]
        begins = entry.event_type == "fault_start"
        if begins:
            fault = faults
            faults += 1
            of_server.append((fault, entry.fault_type))
        elif of_server:
            same_type = [pair for pair in of_server if pair[1] == entry.fault_type]
            ended = (same_type or of_server)[0]
            of_server.remove(ended)
            fault = ended[0]
        else:
            raise InvalidError(
                f"{path}: entry {number} ends a fault of {entry.node_id} that never began", hint="is the file whole?"
            )
        events.append(
            TraceEvent(
                entry.event_time * SECONDS_PER_DAY,
                entry.node_id,
                fault,
                begins,
                entry.fault_type.fault_class,
                entry.fault_type.description,
            )
        )
    return events
