"""A node and its transceivers, as its agent sees them."""

from deploy.grafana.boards.panels import BAD, GOOD, NODE, WATCH, YES_NO, Board, Panel, Query

_MODULE = "{{node}} b{{bundle}}.m{{module}}"

NODE_BOARD = Board(
    uid="ringlight-node",
    title="Node and module",
    text="Nodes, transceivers and GPUs as their agents measure them. Choose nodes above; all are shown at first.",
    variables={
        "fabric": "label_values(ringlight_agent_hardware_open, fabric)",
        "node": 'label_values(ringlight_agent_hardware_open{fabric=~"$fabric"}, node)',
    },
    rows={
        "Node": [
            Panel(
                "stat",
                "Agents have a session",
                "Whether every agent talks to a controller. Good: yes.",
                (Query('min(ringlight_agent_connected{fabric=~"$fabric"})'),),
                "none",
                6,
                words=YES_NO,
                alerts=("RinglightAgentDisconnected",),
            ),
            Panel(
                "stat",
                "Hardware answers",
                "Whether the modules or the switch of every node answer their agent. Good: yes.",
                (Query(f"min(ringlight_agent_hardware_open{{{NODE}}})"),),
                "none",
                6,
                words=YES_NO,
                alerts=("RinglightHardwareGone",),
            ),
            Panel(
                "stat",
                "GPU health is told",
                "Whether the source of GPU health of every node answers. Good: yes.",
                (Query(f"min(ringlight_agent_health_feed_open{{{NODE}}})"),),
                "none",
                6,
                words=YES_NO,
                alerts=("RinglightHealthFeedLost",),
            ),
            Panel(
                "stat",
                "Open faults",
                "Faults of modules and GPUs that make a node DEGRADED or FAILED. Good: 0.",
                (Query(f'sum(ringlight_agent_faults{{class!="info",{NODE}}})'),),
                "none",
                6,
                [(None, GOOD), (1, BAD)],
            ),
            Panel(
                "stack",
                "Faults by class",
                "Open faults as agents report them. info: told and not acted on. Good: nothing but info.",
                (Query(f"sum by (class) (ringlight_agent_faults{{{NODE}}})", "{{class}}"),),
                "none",
                8,
            ),
            Panel(
                "stack",
                "Commands by result",
                "What became of commands. Good: applied and unchanged. reverted: nobody confirmed a planned change.",
                (
                    Query(
                        f"sum by (result) (increase(ringlight_agent_commands_total{{{NODE}}}[$__rate_interval]))",
                        "{{result}}",
                    ),
                ),
                "none",
                8,
            ),
            Panel(
                "trend",
                "Time of a switch",
                "From the first write to the last answer of a node's hardware: median and 99 of 100.",
                tuple(
                    Query(
                        f"histogram_quantile({share}, sum by (le) (increase("
                        f"ringlight_agent_switch_seconds_bucket{{{NODE}}}[$__rate_interval])))",
                        legend,
                    )
                    for share, legend in ((0.5, "median"), (0.99, "99 of 100"))
                ),
                "s",
                8,
            ),
        ],
        "Transceivers": [
            Panel(
                "trend",
                "Modules that are not up",
                "Modules that do not answer, or are not ready. Good: 0.",
                (Query(f"sum by (node) (1 - ringlight_module_up{{{NODE}}})", "{{node}}"),),
                "none",
                8,
                [(None, GOOD), (1, BAD)],
            ),
            Panel(
                "trend",
                "Temperature",
                "Of the modules' cases. Good: below 70 °C.",
                (Query(f"ringlight_module_temperature_celsius{{{NODE}}}", _MODULE),),
                "celsius",
                8,
                [(None, GOOD), (70, WATCH), (75, BAD)],
                alerts=("RinglightModuleHot",),
            ),
            Panel(
                "trend",
                "Supply",
                "Voltage at the modules. Good: about 3.3 V.",
                (Query(f"ringlight_module_supply_volts{{{NODE}}}", _MODULE),),
                "volt",
                8,
            ),
            Panel(
                "trend",
                "Light received, weakest lane",
                "Of the lanes that receive something worth anything. Good: above -13 dBm.",
                (
                    Query(
                        "min by (node, bundle, module) (ringlight_module_rx_power_dbm"
                        f"{{{NODE}}} and ringlight_module_receiving{{{NODE}}} == 1)",
                        _MODULE,
                    ),
                ),
                "dBm",
                8,
                [(None, BAD), (-13, GOOD)],
                alerts=("RinglightModulePower",),
            ),
            Panel(
                "trend",
                "Light sent, weakest laser",
                "Before the switch. Good: above 0 dBm.",
                (
                    Query(
                        f"min by (node, bundle, module) (ringlight_module_tx_power_dbm{{{NODE}}})",
                        _MODULE,
                    ),
                ),
                "dBm",
                8,
                [(None, BAD), (0, GOOD)],
                alerts=("RinglightModulePower",),
            ),
            Panel(
                "trend",
                "Bias of the lasers, highest",
                "A laser that ages needs more current for the same light.",
                (Query(f"max by (node, bundle, module) (ringlight_module_tx_bias_amperes{{{NODE}}})", _MODULE),),
                "amp",
                8,
            ),
            Panel(
                "trend",
                "What the switch takes from the light",
                "Insertion loss of the modules' switches, by path, worst module. Good: steady.",
                (
                    Query(
                        f"max by (node, path) (ringlight_module_insertion_loss_decibels{{{NODE}}})", "{{node}} {{path}}"
                    ),
                ),
                "dB",
                8,
            ),
            Panel(
                "trend",
                "Time without light of the last switch",
                "As the modules measured it. Good: below a tenth of a millisecond.",
                (Query(f"max by (node) (ringlight_module_last_switch_seconds{{{NODE}}})", "{{node}}"),),
                "s",
                8,
            ),
            Panel(
                "trend",
                "Alarms and failed switches",
                "Modules whose last switch failed, that are hot, or whose switch is stuck. Good: 0.",
                (
                    Query(f"sum(ringlight_module_switch_failed{{{NODE}}})", "switch failed"),
                    Query(f"sum by (alarm) (ringlight_module_alarm{{{NODE}}})", "{{alarm}}"),
                ),
                "none",
                8,
                [(None, GOOD), (1, BAD)],
                alerts=("RinglightModuleSwitchFailed", "RinglightModuleHot"),
            ),
        ],
        "GPUs": [
            Panel(
                "trend",
                "GPUs that are gone",
                "GPUs that do not answer. Good: 0.",
                (Query(f"sum by (node) (1 - ringlight_gpu_present{{{NODE}}})", "{{node}}"),),
                "none",
                8,
                [(None, GOOD), (1, BAD)],
            ),
            Panel(
                "trend",
                "Temperature of the GPUs, hottest",
                "By node. Good: below what the maker allows, which differs by model.",
                (Query(f"max by (node) (ringlight_gpu_temperature_celsius{{{NODE}}})", "{{node}}"),),
                "celsius",
                8,
            ),
            Panel(
                "trend",
                "Replaced rows of memory",
                "Rows that the GPUs replaced. Uncorrectable ones count towards a repair.",
                (Query(f"sum by (node, error) (ringlight_gpu_remapped_rows{{{NODE}}})", "{{node}} {{error}}"),),
                "none",
                8,
            ),
        ],
    },
)
