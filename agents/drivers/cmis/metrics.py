"""What is told of modules on the agent's metrics page."""

from ringlight.agents.ports import MetricFamily

UP = "ringlight_module_up"
TEMPERATURE = "ringlight_module_temperature_celsius"
SUPPLY = "ringlight_module_supply_volts"
TX_POWER = "ringlight_module_tx_power_dbm"
RX_POWER = "ringlight_module_rx_power_dbm"
BIAS = "ringlight_module_tx_bias_amperes"
RECEIVING = "ringlight_module_receiving"
LOSS = "ringlight_module_insertion_loss_decibels"
SWITCH_SECONDS = "ringlight_module_last_switch_seconds"
COMMITS = "ringlight_module_commits_total"
SWITCH_FAILED = "ringlight_module_switch_failed"
ALARM = "ringlight_module_alarm"

_MODULE = ("bundle", "module")
_LANE = (*_MODULE, "lane")
FAMILIES = (
    MetricFamily(UP, "gauge", "1 while a module answers and is ready", _MODULE),
    MetricFamily(TEMPERATURE, "gauge", "Temperature of a module's case", _MODULE),
    MetricFamily(SUPPLY, "gauge", "Supply voltage of a module", _MODULE),
    MetricFamily(TX_POWER, "gauge", "Optical power of a lane's laser, before the switch; -60 for none", _LANE),
    MetricFamily(RX_POWER, "gauge", "Optical power at a lane's receiver, behind the switch; -60 for none", _LANE),
    MetricFamily(BIAS, "gauge", "Bias current of a lane's laser", _LANE),
    MetricFamily(RECEIVING, "gauge", "1 while what a lane receives is worth anything to the host", _LANE),
    MetricFamily(LOSS, "gauge", "What a module's switch takes from the light, by path", (*_MODULE, "path")),
    MetricFamily(SWITCH_SECONDS, "gauge", "Time without light of a module's last switch", _MODULE),
    MetricFamily(COMMITS, "counter", "Commits of a module's switch since it got power", _MODULE),
    MetricFamily(SWITCH_FAILED, "gauge", "1 when a module's last switch did not succeed", _MODULE),
    MetricFamily(ALARM, "gauge", "1 while a module raises an alarm: hot, or its switch is stuck", (*_MODULE, "alarm")),
)
