"""What is counted as it happens, since the controller started. Plain numbers: `samples` shows them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ringlight.controller.engine.effects import FabricEvent
from ringlight.controller.metrics.families import (
    DETECTION,
    EVIDENCE,
    HEARTBEAT_GAP,
    PHASES,
    RECONFIGURATION,
)
from ringlight.controller.metrics.session_end import SessionEnd
from ringlight.fabric.distribution import Distribution
from ringlight.fabric.metric_family import Family


def _by_word(family: Family, words: tuple[str, ...]) -> dict[str, Distribution]:
    return {word: Distribution(family.buckets) for word in words}


@dataclass(slots=True)
class Tally:
    """Counters and distributions of one controller.

    Attributes:
        events: by kind.
        reconfigurations: changes of rings, by result and reason.
        detection: seconds to a verdict, by evidence.
        phases: seconds of a ring's change, by phase.
        stale_epochs: commands that an agent refused, since it has obeyed a later term.
        heartbeats: that were heard.
        gaps: seconds between two of a session.
        sessions_opened: sessions that were let in.
        session_ends: by why.
        watch_drops: events that a watcher had no room for.
        store_errors: attempts to write it that failed.
        exported: by job, the newest generation that was published and acknowledged.
    """

    events: Counter[str] = field(default_factory=Counter)
    reconfigurations: Counter[tuple[str, str]] = field(default_factory=Counter)
    detection: Mapping[str, Distribution] = field(default_factory=lambda: _by_word(DETECTION, EVIDENCE))
    phases: Mapping[str, Distribution] = field(default_factory=lambda: _by_word(RECONFIGURATION, PHASES))
    stale_epochs: int = 0
    heartbeats: int = 0
    gaps: Distribution = field(default_factory=lambda: Distribution(HEARTBEAT_GAP.buckets))
    sessions_opened: int = 0
    session_ends: Counter[SessionEnd] = field(default_factory=Counter)
    watch_drops: int = 0
    store_errors: int = 0
    exported: dict[str, int] = field(default_factory=dict)

    def note_event(self, event: FabricEvent) -> None:
        """Count an event, and what it says of times and results."""
        self.events[event.kind] += 1
        data = event.data
        if "detection_seconds" in data:
            self.detection[data["evidence"]].note(float(data["detection_seconds"]))
        match event.kind:
            case "ring-active" if "reason" in data:
                self.reconfigurations["active", data["reason"]] += 1
                self._note_phases(data)
            case "ring-broken" if "waiting" in data:
                self.reconfigurations["waiting", data["reason"]] += 1
            case "refused" if data["code"] == "stale-epoch":
                self.stale_epochs += 1
            case "job-released":
                self.exported.pop(event.subject, None)

    def _note_phases(self, data: Mapping[str, str]) -> None:
        switch, verify = float(data["switch_seconds"]), float(data["verify_seconds"])
        self.phases["switch"].note(switch)
        self.phases["verify"].note(verify)
        # A ring that was laid for the first time has no evidence before it.
        self.phases["total"].note(float(data.get("heal_seconds", switch + verify)))

    def note_decision(self, seconds: float) -> None:
        """A step of the engine in which rings were planned took so long."""
        self.phases["plan"].note(seconds)

    def note_heartbeat(self, gap: float | None) -> None:
        """An agent beat, so long after the last time of this session."""
        self.heartbeats += 1
        if gap is not None:
            self.gaps.note(gap)
