"""What modules measure, for the agent's metrics page and for whoever asks for the light at a port. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence

from ringlight.agents.drivers.cmis import metrics
from ringlight.agents.drivers.cmis.module import Look, Monitors
from ringlight.agents.drivers.cmis.registers import LANES
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError
from ringlight.agents.ports import Measurement, OpticalPower
from ringlight.fabric.circuits import CircuitTable, PortKey

_DARK = -60.0  # dBm: what is told of a lane without any light, since -inf is no number a graph can draw


def powers_of(
    bundles: Sequence[Sequence[str]],
    cabled: Sequence[PortKey],
    circuits: CircuitTable,
    looks: Mapping[str, Look],
    monitors: Mapping[str, Monitors],
) -> dict[PortKey, OpticalPower]:
    """The light at ports that are selected, of the weakest lane of all modules of their bundle.

    The switch takes its part both ways: what leaves the port is less than the laser gives, and what arrives is more
    than the receiver gets.
    """
    powers = {}
    for bundle, path in cabled:
        modules = bundles[bundle]
        if circuits[bundle] is not path or not all(module in looks and module in monitors for module in modules):
            continue
        losses = [looks[module].switch.losses.get(path) for module in modules]
        known = [loss for loss in losses if loss is not None]
        if len(known) < len(modules):
            continue
        sent = min(min(monitors[module].sent) - loss for module, loss in zip(modules, known, strict=True))
        received = min(min(monitors[module].received) + loss for module, loss in zip(modules, known, strict=True))
        powers[bundle, path] = OpticalPower(_measured(sent), _measured(received))
    return powers


def measurements_of(
    bundles: Sequence[Sequence[str]],
    looks: Mapping[str, Look],
    monitors: Mapping[str, Monitors],
    failed: Mapping[str, ModuleTroubleError],
) -> tuple[Measurement, ...]:
    """One node's modules, as they were last seen."""
    return tuple(_all(bundles, looks, monitors, failed))


def _all(
    bundles: Sequence[Sequence[str]],
    looks: Mapping[str, Look],
    monitors: Mapping[str, Monitors],
    failed: Mapping[str, ModuleTroubleError],
) -> Iterator[Measurement]:
    for number, modules in enumerate(bundles):
        for module in modules:
            labels = {"bundle": f"b{number}", "module": module}
            look = looks.get(module)
            yield Measurement(metrics.UP, labels, float(look is not None and look.is_ready))
            if look is None:
                continue
            yield Measurement(metrics.SWITCH_FAILED, labels, float(module in failed))
            yield Measurement(metrics.COMMITS, labels, float(look.switch.commits))
            yield Measurement(metrics.SWITCH_SECONDS, labels, look.switch.away)
            for path, loss in look.switch.losses.items():
                yield Measurement(metrics.LOSS, {**labels, "path": path.name.lower()}, loss)
            for alarm, open_now in (("hot", look.hot), ("stuck", bool(look.switch.stuck))):
                yield Measurement(metrics.ALARM, {**labels, "alarm": alarm}, float(open_now))
            if module in monitors:
                yield from _measured_of(labels, look, monitors[module])


def _measured_of(labels: Mapping[str, str], look: Look, monitors: Monitors) -> Iterator[Measurement]:
    yield Measurement(metrics.TEMPERATURE, labels, monitors.temperature)
    yield Measurement(metrics.SUPPLY, labels, monitors.supply)
    for lane in range(LANES):
        of_lane = {**labels, "lane": str(lane + 1)}
        yield Measurement(metrics.TX_POWER, of_lane, max(_DARK, monitors.sent[lane]))
        yield Measurement(metrics.RX_POWER, of_lane, max(_DARK, monitors.received[lane]))
        yield Measurement(metrics.BIAS, of_lane, monitors.bias[lane] / 1000)
        yield Measurement(metrics.RECEIVING, of_lane, float(look.receiving >> lane & 1))


def _measured(power: float) -> float | None:
    return power if math.isfinite(power) else None
