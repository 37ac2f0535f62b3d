"""The agent's metrics page: what it counts of its own doings, and what its hardware measured last.

Nothing is measured for it: a scrape touches no hardware, however often it comes. Label sets are closed: names of nodes
and parts, and words that are fixed in the code. What backends measure is shown under the names that they declare, with
the label ``node`` in front.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest

from ringlight import __version__
from ringlight.agents.agent import Agent
from ringlight.agents.node import ServedNode
from ringlight.agents.ports import Measurement, MetricFamily
from ringlight.agents.session_end import SessionEnd
from ringlight.fabric.circuits import FaultClass
from ringlight.fabric.outcomes import ApplyCode

_PREFIX = "ringlight_agent_"


class AgentMetrics:
    """The metrics of one agent.

    Args:
        agent: whose.
        families: what its backends measure.
    """

    def __init__(self, agent: Agent, families: Iterable[MetricFamily]) -> None:
        self._agent = agent
        self._families = tuple(families)

    async def render(self) -> bytes:
        """The exposition text: taken at once, and written in a thread, which for many modules takes a while."""
        counted = [*self._of_agent(), *self._of_nodes()]
        measured = [(node.name, node.measurements()) for node in sorted(self._agent.nodes, key=lambda node: node.name)]
        return await asyncio.to_thread(_text, counted, measured, self._families)

    def _of_agent(self) -> Iterator[Metric]:
        agent, tally = self._agent, self._agent.tally
        info = InfoMetricFamily(f"{_PREFIX}build", "Version of the agent")
        info.add_metric([], {"version": __version__})
        yield info
        yield GaugeMetricFamily(f"{_PREFIX}connected", "1 while there is a session", int(agent.connected))
        yield GaugeMetricFamily(f"{_PREFIX}epoch", "Highest epoch of a controller that was seen", agent.epoch)
        yield CounterMetricFamily(f"{_PREFIX}dials", "Attempts at a session with the controller", tally.dials)
        yield CounterMetricFamily(f"{_PREFIX}sessions", "Sessions that the controller accepted", tally.welcomes)
        ends = CounterMetricFamily(
            f"{_PREFIX}session_ends", "Sessions, and attempts at one, by why they ended", labels=["reason"]
        )
        for reason in SessionEnd:
            ends.add_metric([reason], tally.ends[reason])
        yield ends
        yield CounterMetricFamily(f"{_PREFIX}heartbeats", "Heartbeats that were sent", tally.heartbeats)
        yield CounterMetricFamily(f"{_PREFIX}messages", "Reports and answers that were sent", tally.messages)
        yield GaugeMetricFamily(f"{_PREFIX}outbox", "Reports and answers that wait to be sent", agent.waiting)

    def _of_nodes(self) -> Iterator[Metric]:
        nodes = sorted(self._agent.nodes, key=lambda node: node.name)
        yield _by_node(
            GaugeMetricFamily, "hardware_open", "1 while the hardware of the node answers",
            [(node.name, int(node.identity is not None)) for node in nodes],
        )  # fmt: skip
        yield _by_node(
            CounterMetricFamily, "hardware_openings", "Times the hardware of the node was opened",
            [(node.name, node.tally.openings) for node in nodes],
        )  # fmt: skip
        yield _by_node(
            CounterMetricFamily, "hardware_losses", "Times the hardware of the node stopped to answer",
            [(node.name, node.tally.losses) for node in nodes],
        )  # fmt: skip
        yield _by_node(
            GaugeMetricFamily, "health_feed_open", "1 while the node's source of GPU health answers",
            [(node.name, int(node.feed.is_open)) for node in nodes],
        )  # fmt: skip
        yield _by_node(
            CounterMetricFamily, "health_feed_losses", "Times the node's source of GPU health was lost",
            [(node.name, node.feed.losses) for node in nodes],
        )  # fmt: skip
        yield _faults(nodes)
        yield _commands(nodes)
        switches = HistogramMetricFamily(
            f"{_PREFIX}switch_seconds",
            "Time of a change of a node's circuits, from the first write to the last answer",
            labels=["node"],
        )
        for node in nodes:
            switches.add_metric([node.name], node.tally.switches.cumulative(), node.tally.switches.sum)
        yield switches


_Measured = Sequence[tuple[str, Sequence[Measurement]]]


def _measured(taken: _Measured, families: Sequence[MetricFamily]) -> Iterator[Metric]:
    """What nodes measured, under the families that backends declare."""
    shown: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
    for family in families:
        kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
        shown[family.name] = kind(family.name, family.text, labels=["node", *family.labels])
    labels = {family.name: family.labels for family in families}
    for node, measurements in taken:
        for one in measurements:
            values = [one.labels[label] for label in labels[one.family]]
            shown[one.family].add_metric([node, *values], one.value)
    yield from shown.values()


def _by_node(
    kind: type[GaugeMetricFamily | CounterMetricFamily], name: str, text: str, values: Sequence[tuple[str, int]]
) -> Metric:
    family = kind(_PREFIX + name, text, labels=["node"])
    for node, value in values:
        family.add_metric([node], value)
    return family


def _faults(nodes: Sequence[ServedNode]) -> Metric:
    family = GaugeMetricFamily(
        f"{_PREFIX}faults", "Open faults of the node's modules and GPUs, by class", labels=["node", "class"]
    )
    for node in nodes:
        for fault_class in FaultClass:
            open_now = sum(fault.fault_class is fault_class for fault in node.seen.faults.values())
            family.add_metric([node.name, fault_class.name.lower()], open_now)
    return family


def _commands(nodes: Sequence[ServedNode]) -> Metric:
    family = CounterMetricFamily(
        f"{_PREFIX}commands", "Commands to the node, and changes it undid, by result", labels=["node", "result"]
    )
    for node in nodes:
        for code in ApplyCode:
            if code not in (ApplyCode.UNSPECIFIED, ApplyCode.UNKNOWN_NODE):
                result = code.name.lower().replace("_", "-")
                family.add_metric([node.name, result], node.tally.commands[code])
    return family


class _Shown:
    """Families that are collected already."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._families


def _text(counted: Sequence[Metric], taken: _Measured, families: Sequence[MetricFamily]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Shown([*counted, *_measured(taken, families)]))
    return generate_latest(registry)
