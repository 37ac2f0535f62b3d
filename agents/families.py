"""The metric families of an agent itself; what its hardware measures is declared by each backend."""

from ringlight.agents.session_end import SessionEnd
from ringlight.agents.tally import SWITCH_BUCKETS
from ringlight.fabric.circuits import FaultClass
from ringlight.fabric.metric_family import Family, Kind, Label
from ringlight.fabric.outcomes import ApplyCode

_NODE = Label("node")
FAULT_CLASSES = {each: each.name.lower() for each in FaultClass}
RESULTS = {
    code: code.name.lower().replace("_", "-")
    for code in ApplyCode
    if code not in (ApplyCode.UNSPECIFIED, ApplyCode.UNKNOWN_NODE)
}


def _gauge(name: str, text: str, *labels: Label) -> Family:
    return Family(f"ringlight_agent_{name}", Kind.GAUGE, text, labels)


def _counter(name: str, text: str, *labels: Label) -> Family:
    return Family(f"ringlight_agent_{name}_total", Kind.COUNTER, text, labels)


BUILD = Family("ringlight_agent_build_info", Kind.INFO, "Version of the agent", (Label("version"),))
CONNECTED = _gauge("connected", "1 while there is a session")
EPOCH = _gauge("epoch", "Highest epoch of a controller that was seen")
DIALS = _counter("dials", "Attempts at a session with the controller")
SESSIONS = _counter("sessions", "Sessions that the controller accepted")
SESSION_ENDS = _counter(
    "session_ends", "Sessions, and attempts at one, by why they ended", Label("reason", tuple(SessionEnd))
)
HEARTBEATS = _counter("heartbeats", "Heartbeats that were sent")
MESSAGES = _counter("messages", "Reports and answers that were sent")
BUS_LOSSES = _counter("bus_losses", "Times the connection to the MQTT broker broke")
BUS_DROPS = _counter("bus_drops", "Heartbeats that were dropped, since too many waited for the MQTT broker")
OUTBOX = _gauge("outbox", "Reports and answers that wait to be sent")
HARDWARE_OPEN = _gauge("hardware_open", "1 while the hardware of the node answers", _NODE)
HARDWARE_OPENINGS = _counter("hardware_openings", "Times the hardware of the node was opened", _NODE)
HARDWARE_LOSSES = _counter("hardware_losses", "Times the hardware of the node stopped to answer", _NODE)
FEED_OPEN = _gauge("health_feed_open", "1 while the node's source of GPU health answers", _NODE)
FEED_LOSSES = _counter("health_feed_losses", "Times the node's source of GPU health was lost", _NODE)
FAULTS = _gauge(
    "faults",
    "Open faults of the node's modules and GPUs, by class",
    _NODE,
    Label("class", tuple(FAULT_CLASSES.values())),
)
COMMANDS = _counter(
    "commands",
    "Commands to the node, and changes it undid, by result",
    _NODE,
    Label("result", tuple(RESULTS.values())),
)
SWITCH_SECONDS = Family(
    "ringlight_agent_switch_seconds",
    Kind.HISTOGRAM,
    "Time of a change of a node's circuits, from the first write to the last answer",
    (_NODE,),
    SWITCH_BUCKETS,
)

FAMILIES = (
    BUILD,
    CONNECTED,
    EPOCH,
    DIALS,
    SESSIONS,
    SESSION_ENDS,
    HEARTBEATS,
    MESSAGES,
    BUS_LOSSES,
    BUS_DROPS,
    OUTBOX,
    HARDWARE_OPEN,
    HARDWARE_OPENINGS,
    HARDWARE_LOSSES,
    FEED_OPEN,
    FEED_LOSSES,
    FAULTS,
    COMMANDS,
    SWITCH_SECONDS,
)
