"""Every metric family of the controller: its name, labels and meaning. docs/metrics.md is written from this.

Label values are closed sets of words of ours, but for three: `node` (only nodes that are not HEALTHY), `job`, and
`version`. So the number of series is bounded by the fabric, and a node that is well costs none.
"""

from ringlight.controller.engine.causes import Reason
from ringlight.controller.engine.state import JobState, Overlay, RingState
from ringlight.controller.health.verdicts import Verdict
from ringlight.controller.metrics.rejection import Rejection
from ringlight.controller.metrics.session_end import SessionEnd
from ringlight.fabric.metric_family import Family, Kind, Label

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_GAP_BUCKETS = (0.5, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
GATES = ("silence", "breaker", "pause", "term")
EVIDENCE = ("report", "darkness", "light", "witness", "rule", "silence")
PHASES = ("plan", "switch", "verify", "total")
RESULTS = ("active", "waiting")
QUEUES = ("store", "watch", "mqtt-in", "mqtt-out")
SHOWN_RING_STATES = tuple(state.value for state in RingState if state is not RingState.RELEASED)
SHOWN_JOB_STATES = tuple(state.value for state in JobState if state is not JobState.RELEASED)


def _gauge(name: str, text: str, *labels: Label) -> Family:
    return Family(f"ringlight_{name}", Kind.GAUGE, text, labels)


def _counter(name: str, text: str, *labels: Label) -> Family:
    return Family(f"ringlight_{name}_total", Kind.COUNTER, text, labels)


def _histogram(name: str, text: str, *labels: Label, buckets: tuple[float, ...] = _BUCKETS) -> Family:
    return Family(f"ringlight_{name}", Kind.HISTOGRAM, text, labels, buckets)


BUILD = Family("ringlight_build_info", Kind.INFO, "Version of the controller", (Label("version"),))
LEADER = _gauge("leader", "1 while this controller may act; 0 before it has read its store and once it was deposed")
EPOCH = _gauge("epoch", "The controller's term; it grows with each start and take-over")
GENERATION = _gauge("generation", "Version of the fabric's desired state; it grows with each change")
SETTLED = _gauge("settled", "1 while nothing is in flight: no ring changes, no answer is owed, nothing is audited")

NODES = _gauge("nodes", "Nodes by verdict", Label("verdict", tuple(Verdict)))
ABNORMAL = _gauge(
    "node_abnormal", "1 for each node that is not HEALTHY, with its verdict", Label("node"), Label("verdict")
)
OVERLAID = _gauge("nodes_overlaid", "Nodes by what lies over them", Label("overlay", (*Overlay, "audited")))
QUARANTINED = _gauge("nodes_quarantined", "Nodes that failed or flapped too often and wait for a person's release")
SPARES = _gauge("spares", "Nodes that are available and that no ring uses")
SPARE_DISTANCE = _gauge(
    "spare_distance_hops",
    "Positions from a node of a ring to the nearest spare: half of the nodes have one at most this far (p50), and all"
    " of them (max); absent without spares or rings",
    Label("statistic", ("p50", "max")),
)

RINGS = _gauge("rings", "Rings by state", Label("state", SHOWN_RING_STATES))
WAITING = _gauge("rings_waiting", "Rings that are wanted and have no nodes, since no way to lay them is left")
JOBS = _gauge("jobs", "Jobs by state", Label("state", SHOWN_JOB_STATES))
LONGEST_BYPASS = _gauge("longest_bypass_hops", "Largest hop distance that an ACTIVE ring uses; 1 when none is bypassed")
HOPS = _gauge(
    "hops",
    "Hops of the fabric: live, dead (no light though both ends select it), untested (was dead, may be tried again)",
    Label("state", ("live", "dead", "untested")),
)

GPUS = _gauge("gpus", "GPUs of the fabric")
GPUS_HEALTHY = _gauge("gpus_healthy", "GPUs of nodes that are not FAILED")
GPUS_IN_RINGS = _gauge("gpus_in_rings", "GPUs of ACTIVE rings")
GPUS_WASTED = _gauge(
    "gpus_wasted",
    "GPUs that may be used and that fit in no ring of the largest size in use, had every ring been laid anew",
)
WASTE = _gauge("waste_ratio", "Wasted GPUs as part of all GPUs, 0 to 1")

DETECTION = _histogram(
    "detection_seconds",
    "Time from the beginning of the evidence (report, lost light, last word of the agent) to the verdict, by what"
    " decided it",
    Label("evidence", EVIDENCE),
)
RECONFIGURATION = _histogram(
    "reconfiguration_seconds",
    "Time of a ring's change by phase: plan (deciding), switch (until every bundle read back right), verify (until"
    " light was proven), total (from the evidence to proven light)",
    Label("phase", PHASES),
)
RECONFIGURATIONS = _counter(
    "reconfigurations",
    "Changes of rings by result (active: light proven; waiting: no way to lay it was left) and reason",
    Label("result", RESULTS),
    Label("reason", tuple(Reason)),
)
IN_FLIGHT = _gauge("transactions_in_flight", "Rings that are being changed")
REVERTS = _counter("reverts", "Planned changes that an agent undid, since nobody confirmed them in time")
DRIFT = _counter("drift", "Times that hardware selected something else than was wanted, and no command said so")
STALE_EPOCHS = _counter("stale_epoch_rejections", "Commands of ours that an agent refused: it has obeyed a later term")
VIOLATIONS = _counter("invariant_violations", "Commands that an invariant held back; anything but 0 is a bug of ours")

SESSIONS = _gauge("sessions", "Live sessions of agents")
SESSIONS_OPENED = _counter("sessions_opened", "Sessions that were let in")
SESSION_ENDS = _counter("session_ends", "Sessions that ended, by why", Label("reason", tuple(SessionEnd)))
HEARTBEATS = _counter("heartbeats", "Heartbeats of agents that were heard")
HEARTBEAT_GAP = _histogram("heartbeat_gap_seconds", "Time between two heartbeats of a session", buckets=_GAP_BUCKETS)

GATE = _gauge("gate_open", "1 while a gate keeps nothing back", Label("gate", GATES))
BREAKER_FAILURES = _gauge("breaker_failures", "Nodes that failed within the breaker's window")
BREAKER_ALLOWANCE = _gauge("breaker_allowance", "Failures within the window above which the breaker trips")

JOB_GENERATION = _gauge("job_generation", "Version of a job's rings", Label("job"))
EXPORT_GENERATION = _gauge(
    "export_generation", "Newest version of a job's rings that was published and acknowledged", Label("job")
)
EVENTS = _counter("events", "Events of the log, by kind", Label("kind"))
STORE_OK = _gauge("store_ok", "1 while the store can be written")
STORE_ERRORS = _counter("store_errors", "Attempts to write the store that failed")
DROPS = _counter(
    "queue_drops",
    "What full queues dropped: events on their way to the store or to whoever watches, and messages over MQTT",
    Label("queue", QUEUES),
)
BUS_CONNECTED = _gauge("bus_connected", "1 while there is a connection to the MQTT broker; absent without a broker")
BUS_LOSSES = _counter("bus_losses", "Connections to the MQTT broker that broke; absent without a broker")
BUS_MESSAGES = _counter(
    "bus_messages", "Messages over MQTT; absent without a broker", Label("direction", ("in", "out"))
)
BUS_REJECTED = _counter(
    "bus_rejected",
    "Heartbeats over MQTT that counted for nothing, by why; absent without a broker",
    Label("reason", tuple(Rejection)),
)
LOOP_LAG = _gauge("loop_lag_seconds", "Longest that the controller's event loop was late within the last minute")

SECTIONS: tuple[tuple[str, tuple[Family, ...]], ...] = (
    ("Term", (BUILD, LEADER, EPOCH, GENERATION, SETTLED)),
    ("Nodes", (NODES, ABNORMAL, OVERLAID, QUARANTINED, SPARES, SPARE_DISTANCE)),
    ("Rings and jobs", (RINGS, WAITING, JOBS, LONGEST_BYPASS, HOPS, JOB_GENERATION, EXPORT_GENERATION)),
    ("GPUs", (GPUS, GPUS_HEALTHY, GPUS_IN_RINGS, GPUS_WASTED, WASTE)),
    (
        "Healing",
        (DETECTION, RECONFIGURATION, RECONFIGURATIONS, IN_FLIGHT, REVERTS, DRIFT, STALE_EPOCHS, VIOLATIONS),
    ),
    ("Agents", (SESSIONS, SESSIONS_OPENED, SESSION_ENDS, HEARTBEATS, HEARTBEAT_GAP)),
    ("Gates", (GATE, BREAKER_FAILURES, BREAKER_ALLOWANCE)),
    ("MQTT", (BUS_CONNECTED, BUS_LOSSES, BUS_MESSAGES, BUS_REJECTED)),
    ("The process", (EVENTS, STORE_OK, STORE_ERRORS, DROPS, LOOP_LAG)),
)
FAMILIES = tuple(family for _, families in SECTIONS for family in families)
