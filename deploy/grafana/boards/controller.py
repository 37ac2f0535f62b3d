"""The controller itself: who is in charge, how it keeps up, and what it could not say."""

from deploy.grafana.boards.panels import BAD, CALM, FABRIC, GOOD, WATCH, YES_NO, Board, Panel, Query

CONTROLLER_BOARD = Board(
    uid="ringlight-controller",
    title="Controller",
    text="The controller itself: who is in charge, its gates, sessions of agents, how it keeps up, its store.",
    variables={"fabric": "label_values(ringlight_leader, fabric)"},
    rows={
        "In charge": [
            Panel(
                "stat",
                "In charge",
                "Whether a controller may act, for each fabric. Good: yes, and one only.",
                (Query(f"sum by (fabric) (ringlight_leader{{{FABRIC}}}) or on () vector(0)", "{{fabric}}"),),
                "none",
                4,
                words={0: ("nobody", BAD), 1: ("yes", GOOD), 2: ("two!", BAD)},
                alerts=("RinglightNoLeader", "RinglightTwoLeaders"),
            ),
            Panel(
                "stat",
                "Epoch",
                "The term. It grows with each start and each take-over.",
                (Query(f"max(ringlight_epoch{{{FABRIC}}})"),),
                "none",
                4,
                [(None, CALM)],
            ),
            Panel(
                "stat",
                "Generation",
                "Version of what is wanted of the fabric. It grows with each change.",
                (Query(f"max(ringlight_generation{{{FABRIC}}})"),),
                "none",
                4,
                [(None, CALM)],
            ),
            Panel(
                "stat",
                "The store is written",
                "Without it a restart knows only what was written before. Good: yes.",
                (Query(f"min(ringlight_store_ok{{{FABRIC}}})"),),
                "none",
                4,
                words=YES_NO,
                alerts=("RinglightStoreNotWritable",),
            ),
            Panel(
                "stat",
                "At rest",
                "Nothing is in flight: no ring changes, and no answer is owed. Good: yes but for moments.",
                (Query(f"min(ringlight_settled{{{FABRIC}}})"),),
                "none",
                4,
                words={1: ("yes", GOOD), 0: ("at work", CALM)},
            ),
            Panel(
                "stat",
                "Version",
                "Of the controllers that run.",
                (Query(f"count by (version) (ringlight_build_info{{{FABRIC}}})", "{{version}}"),),
                "none",
                4,
                [(None, CALM)],
            ),
            Panel(
                "trend",
                "Gates",
                "1 while a gate keeps nothing back. Good: all at 1. silence is 0 for a moment after each start.",
                (Query(f"min by (gate) (ringlight_gate_open{{{FABRIC}}})", "{{gate}}"),),
                "none",
                12,
                alerts=("RinglightSilenceGateShut", "RinglightBreakerTripped", "RinglightPausedTooLong"),
            ),
            Panel(
                "trend",
                "How late it is",
                "Longest that the event loop was late within a minute. Good: some milliseconds.",
                (Query(f"max by (instance) (ringlight_loop_lag_seconds{{{FABRIC}}})", "{{instance}}"),),
                "s",
                12,
                [(None, GOOD), (0.5, WATCH)],
                alerts=("RinglightLoopLag",),
            ),
        ],
        "Agents": [
            Panel(
                "trend",
                "Sessions",
                "Agents that have one. Good: as many as there are agents.",
                (Query(f"sum(ringlight_sessions{{{FABRIC}}})", "sessions"),),
                "none",
                6,
            ),
            Panel(
                "stack",
                "Sessions that ended",
                "By why. goodbye: stopped in order. broken: the agent or the network died. silent, slow: somebody is"
                " overloaded.",
                (
                    Query(
                        f"sum by (reason) (increase(ringlight_session_ends_total{{{FABRIC}}}[$__rate_interval]))",
                        "{{reason}}",
                    ),
                ),
                "none",
                6,
                alerts=("RinglightFlapping",),
            ),
            Panel(
                "trend",
                "Heartbeats and new sessions",
                "A second. Heartbeats: as many as agents, by their interval. New sessions: none while all is well.",
                (
                    Query(f"sum(rate(ringlight_heartbeats_total{{{FABRIC}}}[$__rate_interval]))", "heartbeats"),
                    Query(f"sum(rate(ringlight_sessions_opened_total{{{FABRIC}}}[$__rate_interval]))", "new sessions"),
                ),
                "ops",
                6,
            ),
            Panel(
                "trend",
                "Time between heartbeats",
                "Of a session: median and 99 of 100. Good: the interval, and hardly more.",
                tuple(
                    Query(
                        f"histogram_quantile({share}, sum by (le) (rate("
                        f"ringlight_heartbeat_gap_seconds_bucket{{{FABRIC}}}[$__rate_interval])))",
                        legend,
                    )
                    for share, legend in ((0.5, "median"), (0.99, "99 of 100"))
                ),
                "s",
                6,
            ),
        ],
        "What it could not say": [
            Panel(
                "trend",
                "Dropped",
                "By queue. Good: nothing.",
                (
                    Query(
                        f"sum by (queue) (increase(ringlight_queue_drops_total{{{FABRIC}}}[$__rate_interval]))",
                        "{{queue}}",
                    ),
                ),
                "none",
                8,
                alerts=("RinglightQueueDrops",),
            ),
            Panel(
                "trend",
                "Store errors",
                "Attempts to write that failed. Good: none.",
                (Query(f"sum(increase(ringlight_store_errors_total{{{FABRIC}}}[$__rate_interval]))", "errors"),),
                "none",
                8,
                alerts=("RinglightStoreNotWritable",),
            ),
            Panel(
                "table",
                "Versions of jobs",
                "The version that holds, and the one that was published (nothing without a broker). Good: the same.",
                (
                    Query(f"max by (job) (ringlight_job_generation{{{FABRIC}}})"),
                    Query(f"max by (job) (ringlight_export_generation{{{FABRIC}}})"),
                ),
                "none",
                8,
                columns={"job": "Job", "Value #A": "Holds", "Value #B": "Published"},
                empty="no jobs",
                alerts=("RinglightExportsBehind",),
            ),
        ],
        "MQTT": [
            Panel(
                "stat",
                "The broker is reached",
                "Over it events and jobs are told, and some agents beat. Good: yes; nothing is shown without a broker.",
                (Query(f"min(ringlight_bus_connected{{{FABRIC}}})"),),
                "none",
                6,
                words=YES_NO,
                alerts=("RinglightBrokerLost",),
            ),
            Panel(
                "trend",
                "Messages",
                "A second, by direction.",
                (
                    Query(
                        f"sum by (direction) (rate(ringlight_bus_messages_total{{{FABRIC}}}[$__rate_interval]))",
                        "{{direction}}",
                    ),
                ),
                "ops",
                6,
            ),
            Panel(
                "trend",
                "Connections that broke",
                "Good: none. Many: two clients of one id, or an overloaded broker.",
                (Query(f"sum(increase(ringlight_bus_losses_total{{{FABRIC}}}[$__rate_interval]))", "losses"),),
                "none",
                6,
                alerts=("RinglightBrokerLost",),
            ),
            Panel(
                "stack",
                "Heartbeats that counted for nothing",
                "By why. Good: nothing. no-session: of an agent that has another session by now.",
                (
                    Query(
                        f"sum by (reason) (increase(ringlight_bus_rejected_total{{{FABRIC}}}[$__rate_interval]))",
                        "{{reason}}",
                    ),
                ),
                "none",
                6,
            ),
        ],
        "Scrapes": [
            Panel(
                "trend",
                "Targets that answer",
                "Controllers and agents that Prometheus reaches. Good: all of them.",
                (Query(f'sum by (job) (up{{job=~"ringlight-.*",{FABRIC}}})', "{{job}}"),),
                "none",
                12,
                alerts=("RinglightControllerAbsent", "RinglightAgentAbsent"),
            ),
            Panel(
                "trend",
                "Time of a scrape",
                "Good: below 0.3 s, at 10,000 nodes, too.",
                (Query(f'max by (job) (scrape_duration_seconds{{job=~"ringlight-.*",{FABRIC}}})', "{{job}}"),),
                "s",
                12,
                [(None, GOOD), (0.3, WATCH)],
            ),
        ],
    },
)
