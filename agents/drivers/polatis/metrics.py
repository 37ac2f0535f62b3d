"""What the agent's metrics page says of a matrix switch. Everything is counted for each node that is served by it."""

from ringlight.agents.ports import MetricFamily

POWER = "ringlight_polatis_power_dbm"
MOVES = "ringlight_polatis_moves_total"
MOVE_SECONDS = "ringlight_polatis_move_seconds"
REFUSALS = "ringlight_polatis_refused_total"
ERRORS = "ringlight_polatis_switch_errors_total"
CONNECTIONS = "ringlight_polatis_connections_total"

FAMILIES: tuple[MetricFamily, ...] = (
    MetricFamily(
        POWER,
        "gauge",
        "Optical power at a port of the switch that the node is plugged in at; none where it is dark.",
        ("switch", "bundle", "side", "port"),
    ),
    MetricFamily(MOVES, "counter", "Selections of the node's bundles that the switch carried out.", ("switch",)),
    MetricFamily(
        MOVE_SECONDS, "gauge", "How long the switch took for the last move of one of the node's bundles.", ("switch",)
    ),
    MetricFamily(
        REFUSALS,
        "counter",
        "Selections that were not carried out: an egress was taken, or the switch did not do it.",
        ("switch",),
    ),
    MetricFamily(
        ERRORS,
        "counter",
        "Entries read from the error queue of the switch, which all its clients share; the same for all its nodes.",
        ("switch",),
    ),
    MetricFamily(
        CONNECTIONS,
        "counter",
        "Times the agent connected to the switch; the same for all its nodes.",
        ("switch",),
    ),
)
