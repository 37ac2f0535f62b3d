"""The agent's metrics page: what it counts of its own doings, and what its hardware measured last.

Nothing is measured for it: a scrape touches no hardware, however often it comes. Label sets are closed: names of nodes
and parts, and words that are fixed in the code. What backends measure is shown under the names that they declare, with
the label ``node`` in front.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from ringlight import __version__
from ringlight.agents import families as f
from ringlight.agents.agent import Agent
from ringlight.agents.node import ServedNode
from ringlight.agents.ports import Measurement, MetricFamily
from ringlight.agents.session_end import SessionEnd
from ringlight.fabric.metric_family import Distributions, Family, Labels, Samples
from ringlight.protos.bus.bus import BusTally
from ringlight.protos.exposition import exposition


class AgentMetrics:
    """The metrics of one agent.

    Args:
        agent: whose.
        families: what its backends measure.
        bus: what its connection to an MQTT broker counts; none when it has none.
    """

    def __init__(self, agent: Agent, families: Iterable[MetricFamily], bus: BusTally | None = None) -> None:
        self._agent = agent
        self._bus = bus or BusTally()
        self._families = {family.name: family for family in families}

    async def render(self) -> bytes:
        """The exposition text: taken at once, and written in a thread, which for many modules takes a while."""
        nodes = sorted(self._agent.nodes, key=lambda node: node.name)
        counted = [*self._of_agent(), *_of_nodes(nodes)]
        measured = [(node.name, node.measurements()) for node in nodes]
        return await asyncio.to_thread(lambda: exposition(chain(counted, _measured(measured, self._families))))

    def _of_agent(self) -> Iterator[Samples]:
        agent, tally = self._agent, self._agent.tally
        yield Samples(f.BUILD, [((__version__,), 1)])
        yield _one(f.CONNECTED, int(agent.connected))
        yield _one(f.EPOCH, agent.epoch)
        yield _one(f.DIALS, tally.dials)
        yield _one(f.SESSIONS, tally.welcomes)
        yield Samples(f.SESSION_ENDS, [((reason,), tally.ends[reason]) for reason in SessionEnd])
        yield _one(f.HEARTBEATS, tally.heartbeats)
        yield _one(f.MESSAGES, tally.messages)
        yield _one(f.BUS_LOSSES, self._bus.losses)
        yield _one(f.BUS_DROPS, self._bus.dropped_out)
        yield _one(f.OUTBOX, agent.waiting)


def _of_nodes(nodes: Sequence[ServedNode]) -> Iterator[Samples | Distributions]:
    yield _by_node(f.HARDWARE_OPEN, nodes, lambda node: int(node.identity is not None))
    yield _by_node(f.HARDWARE_OPENINGS, nodes, lambda node: node.tally.openings)
    yield _by_node(f.HARDWARE_LOSSES, nodes, lambda node: node.tally.losses)
    yield _by_node(f.FEED_OPEN, nodes, lambda node: int(node.feed.is_open))
    yield _by_node(f.FEED_LOSSES, nodes, lambda node: node.feed.losses)
    yield Samples(
        f.FAULTS,
        [
            ((node.name, word), sum(fault.fault_class is each for fault in node.seen.faults.values()))
            for node in nodes
            for each, word in f.FAULT_CLASSES.items()
        ],
    )
    yield Samples(
        f.COMMANDS,
        [((node.name, word), node.tally.commands[code]) for node in nodes for code, word in f.RESULTS.items()],
    )
    # What is counted goes on being counted while the thread writes.
    yield Distributions(f.SWITCH_SECONDS, [((node.name,), node.tally.switches.copy()) for node in nodes])


def _one(family: Family, value: float) -> Samples:
    return Samples(family, [((), value)])


def _by_node(family: Family, nodes: Sequence[ServedNode], value: Callable[[ServedNode], int]) -> Samples:
    return Samples(family, [((node.name,), value(node)) for node in nodes])


def _measured(
    taken: Sequence[tuple[str, Sequence[Measurement]]], families: dict[str, MetricFamily]
) -> Iterator[Samples]:
    """What nodes measured, under the families that backends declare."""
    shown: dict[str, list[tuple[Labels, float]]] = {name: [] for name in families}
    for node, measurements in taken:
        for one in measurements:
            labels = (node, *(one.labels[label] for label in families[one.family].labels))
            shown[one.family].append((labels, one.value))
    for name, values in shown.items():
        yield Samples(families[name].shown, values)
