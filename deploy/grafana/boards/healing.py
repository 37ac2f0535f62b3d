"""How fast things are found and healed, and what comes of it."""

from deploy.grafana.boards.panels import BAD, CALM, FABRIC, GOOD, WATCH, Board, Panel, Query, in_charge

_HEALED = "ringlight_reconfiguration_seconds_bucket"
_FOUND = "ringlight_detection_seconds_bucket"


def _quantile(share: float, buckets: str, matchers: str, by: str, window: str) -> str:
    inner = f"sum by (le{by}) (increase({buckets}{{{matchers}}}[{window}]))"
    return f"histogram_quantile({share}, {inner})"


def _over(share: float, title: str) -> Panel:
    return Panel(
        "stat",
        title,
        "From the evidence to proven light, over the time that is shown. Good: milliseconds. A job's communication"
        " library may give up after seconds.",
        (Query(_quantile(share, _HEALED, f'phase="total",{FABRIC}', "", "$__range")),),
        "s",
        4,
        [(None, GOOD), (0.5, WATCH), (1.0, BAD)],
        alerts=("RinglightSlowHealing",),
    )


HEALING_BOARD = Board(
    uid="ringlight-healing",
    title="Healing",
    text="How long it takes from a fault to proven light, by phase, and what came of every change of a ring.",
    variables={"fabric": "label_values(ringlight_leader, fabric)"},
    rows={
        "At a glance": [
            _over(0.5, "Healed, median"),
            _over(0.99, "Healed, 99 of 100"),
            Panel(
                "stat",
                "Rings changed",
                "Changes that ended in proven light, over the time that is shown.",
                (Query(f'sum(increase(ringlight_reconfigurations_total{{result="active",{FABRIC}}}[$__range]))'),),
                "none",
                4,
                [(None, CALM)],
                decimals=0,
            ),
            Panel(
                "stat",
                "Rings left waiting",
                "Changes after which a ring had no way to be laid, over the time that is shown. Good: 0.",
                (Query(f'sum(increase(ringlight_reconfigurations_total{{result="waiting",{FABRIC}}}[$__range]))'),),
                "none",
                4,
                [(None, GOOD), (0.5, BAD)],
                alerts=("RinglightNoWayAround",),
                decimals=0,
            ),
            Panel(
                "stat",
                "In flight",
                "Rings that are being changed now. Good: 0 but for moments.",
                (Query(f"sum(ringlight_transactions_in_flight{{{FABRIC}}})"),),
                "none",
                4,
                [(None, GOOD), (1, CALM)],
            ),
            Panel(
                "stat",
                "Breaker",
                "Failures within the breaker's window, of those that trip it. Good: far below 100 %.",
                (
                    Query(
                        f"max({in_charge('ringlight_breaker_failures')} /"
                        f" clamp_min({in_charge('ringlight_breaker_allowance')}, 1))"
                    ),
                ),
                "percentunit",
                4,
                [(None, GOOD), (0.5, WATCH), (1, BAD)],
                alerts=("RinglightBreakerTripped",),
                decimals=0,
            ),
        ],
        "How long": [
            Panel(
                "trend",
                "By phase, median",
                "plan: deciding. switch: until every bundle read back right. verify: until light was proven. total:"
                " from the evidence on, so it holds waiting, too.",
                (Query(_quantile(0.5, _HEALED, FABRIC, ", phase", "$__rate_interval"), "{{phase}}"),),
                "s",
                12,
            ),
            Panel(
                "trend",
                "By phase, 99 of 100",
                "As the panel beside it, for the slowest. A long switch is an agent or a module, a long verify is a"
                " fibre.",
                (Query(_quantile(0.99, _HEALED, FABRIC, ", phase", "$__rate_interval"), "{{phase}}"),),
                "s",
                12,
                alerts=("RinglightSlowHealing",),
            ),
        ],
        "How it was found": [
            Panel(
                "trend",
                "Time to the verdict, median",
                "By what decided it. report and light: at once. darkness, witness, rule: silence had to be confirmed"
                " first.",
                (Query(_quantile(0.5, _FOUND, FABRIC, ", evidence", "$__rate_interval"), "{{evidence}}"),),
                "s",
                12,
            ),
            Panel(
                "stack",
                "Failures by evidence",
                "How failures of nodes and hops were found.",
                (
                    Query(
                        "sum by (evidence) (increase(ringlight_detection_seconds_count"
                        f"{{{FABRIC}}}[$__rate_interval]))",
                        "{{evidence}}",
                    ),
                ),
                "none",
                12,
            ),
        ],
        "What came of it": [
            Panel(
                "stack",
                "Changes by reason",
                "Why rings changed and carry light again.",
                (
                    Query(
                        "sum by (reason) (increase(ringlight_reconfigurations_total"
                        f'{{result="active",{FABRIC}}}[$__rate_interval]))',
                        "{{reason}}",
                    ),
                ),
                "none",
                8,
            ),
            Panel(
                "stack",
                "Rings without a way, by reason",
                "Why rings lost their way. Good: nothing.",
                (
                    Query(
                        "sum by (reason) (increase(ringlight_reconfigurations_total"
                        f'{{result="waiting",{FABRIC}}}[$__rate_interval]))',
                        "{{reason}}",
                    ),
                ),
                "none",
                8,
                alerts=("RinglightNoWayAround",),
            ),
            Panel(
                "trend",
                "What should not happen",
                "Planned changes that were undone, hardware that selects what nobody asked for, commands that a later"
                " controller's agents refused, and commands that an invariant held back. Good: all 0.",
                (
                    Query(f"sum(increase(ringlight_reverts_total{{{FABRIC}}}[$__rate_interval]))", "reverts"),
                    Query(f"sum(increase(ringlight_drift_total{{{FABRIC}}}[$__rate_interval]))", "drift"),
                    Query(
                        f"sum(increase(ringlight_stale_epoch_rejections_total{{{FABRIC}}}[$__rate_interval]))",
                        "stale epochs",
                    ),
                    Query(
                        f"sum(increase(ringlight_invariant_violations_total{{{FABRIC}}}[$__rate_interval]))",
                        "invariants",
                    ),
                ),
                "none",
                8,
                alerts=(
                    "RinglightReverts",
                    "RinglightDrift",
                    "RinglightStaleEpoch",
                    "RinglightInvariantViolation",
                ),
            ),
        ],
    },
)
