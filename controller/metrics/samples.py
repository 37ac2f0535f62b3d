"""From what is known and what was counted to the value of each series. Pure; `adapters.prometheus` writes them down."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ringlight import __version__
from ringlight.controller.metrics import families as f
from ringlight.controller.metrics.census import Census, spare_distances
from ringlight.controller.metrics.rejection import Rejection
from ringlight.controller.metrics.session_end import SessionEnd
from ringlight.controller.metrics.tally import Tally
from ringlight.fabric.metric_family import Distributions, Family, Labels, Samples


@dataclass(frozen=True, slots=True)
class BusReport:
    """How the connection to the MQTT broker fares."""

    connected: bool
    losses: int
    received: int
    sent: int
    dropped_in: int
    dropped_out: int
    rejected: Mapping[Rejection, int]


@dataclass(frozen=True, slots=True)
class Process:
    """How the process itself fares.

    Attributes:
        store_ok: the store can be written.
        events_dropped: that the store never took.
        loop_lag: seconds that the event loop was late, at most, within the last minute.
        bus: None without a broker.
    """

    store_ok: bool
    events_dropped: int
    loop_lag: float
    bus: BusReport | None = None


def samples(census: Census, tally: Tally, process: Process) -> Iterator[Samples | Distributions]:
    """Every series, family by family, in the order of `families.FAMILIES`."""
    yield from _controller(census)
    yield from _nodes(census)
    yield from _rings(census, tally)
    yield from _gpus(census)
    yield from _healing(census, tally)
    yield from _agents(census, tally)
    yield from _gates(census)
    yield from _bus(process.bus)
    yield from _process(tally, process)


def _controller(census: Census) -> Iterator[Samples]:
    view = census.view
    yield Samples(f.BUILD, [((__version__,), 1)])
    yield _one(f.LEADER, view.epoch > 0 and all(gate.open for gate in view.gates if gate.name == "term"))
    yield _one(f.EPOCH, view.epoch)
    yield _one(f.GENERATION, view.generation)
    yield _one(f.SETTLED, view.settled)


def _nodes(census: Census) -> Iterator[Samples]:
    view = census.view
    yield _by_word(f.NODES, view.verdicts)
    yield Samples(f.ABNORMAL, [((node, verdict), 1) for node, verdict in sorted(view.abnormal.items())])
    yield _by_word(f.OVERLAID, view.overlays)
    yield _one(f.QUARANTINED, view.quarantined)
    yield _one(f.SPARES, view.spares)
    distances = spare_distances(census, closed=view.closed)
    values = [] if distances is None else [(("p50",), distances[0]), (("max",), distances[1])]
    yield Samples(f.SPARE_DISTANCE, values)


def _rings(census: Census, tally: Tally) -> Iterator[Samples]:
    view = census.view
    yield _by_word(f.RINGS, view.ring_states)
    yield _one(f.WAITING, census.rings_waiting)
    yield _by_word(f.JOBS, census.jobs)
    yield _one(f.LONGEST_BYPASS, view.longest_bypass)
    dead, untested = len(view.dead_hops), len(view.untested_hops)
    yield _by_word(f.HOPS, {"live": census.hops - dead - untested, "dead": dead, "untested": untested})
    yield Samples(f.JOB_GENERATION, _by_name(census.job_generations))
    yield Samples(f.EXPORT_GENERATION, _by_name(tally.exported))


def _gpus(census: Census) -> Iterator[Samples]:
    view = census.view
    gpus = view.nodes * view.gpus_per_node
    yield _one(f.GPUS, gpus)
    yield _one(f.GPUS_HEALTHY, view.gpus_healthy)
    yield _one(f.GPUS_IN_RINGS, view.gpus_in_rings)
    yield _one(f.GPUS_WASTED, census.gpus_wasted)
    yield _one(f.WASTE, census.gpus_wasted / gpus)


def _healing(census: Census, tally: Tally) -> Iterator[Samples | Distributions]:
    yield Distributions(f.DETECTION, [((evidence,), times) for evidence, times in tally.detection.items()])
    yield Distributions(f.RECONFIGURATION, [((phase,), times) for phase, times in tally.phases.items()])
    yield Samples(
        f.RECONFIGURATIONS,
        [
            ((result, reason), tally.reconfigurations[result, reason])
            for result in f.RECONFIGURATIONS.labels[0].values
            for reason in f.RECONFIGURATIONS.labels[1].values
        ],
    )
    yield _one(f.IN_FLIGHT, census.in_flight)
    yield _one(f.REVERTS, tally.events["reverted"])
    yield _one(f.DRIFT, tally.events["drift"])
    yield _one(f.STALE_EPOCHS, tally.stale_epochs)
    yield _one(f.VIOLATIONS, census.view.violations)


def _agents(census: Census, tally: Tally) -> Iterator[Samples | Distributions]:
    yield _one(f.SESSIONS, census.view.sessions)
    yield _one(f.SESSIONS_OPENED, tally.sessions_opened)
    yield _by_word(f.SESSION_ENDS, {end: tally.session_ends[end] for end in SessionEnd})
    yield _one(f.HEARTBEATS, tally.heartbeats)
    yield Distributions(f.HEARTBEAT_GAP, [((), tally.gaps)])


def _gates(census: Census) -> Iterator[Samples]:
    view = census.view
    yield _by_word(f.GATE, {gate.name: int(gate.open) for gate in view.gates})
    yield _one(f.BREAKER_FAILURES, view.newly_failed)
    yield _one(f.BREAKER_ALLOWANCE, view.breaker_allowance)


def _bus(bus: BusReport | None) -> Iterator[Samples]:
    if bus is None:
        yield from (Samples(family, []) for family in (f.BUS_CONNECTED, f.BUS_LOSSES, f.BUS_MESSAGES, f.BUS_REJECTED))
        return
    yield _one(f.BUS_CONNECTED, bus.connected)
    yield _one(f.BUS_LOSSES, bus.losses)
    yield _by_word(f.BUS_MESSAGES, {"in": bus.received, "out": bus.sent})
    yield _by_word(f.BUS_REJECTED, {why: bus.rejected.get(why, 0) for why in Rejection})


def _process(tally: Tally, process: Process) -> Iterator[Samples]:
    yield Samples(f.EVENTS, _by_name(tally.events))
    yield _one(f.STORE_OK, process.store_ok)
    yield _one(f.STORE_ERRORS, tally.store_errors)
    bus = process.bus
    dropped = {
        "store": process.events_dropped,
        "watch": tally.watch_drops,
        "mqtt-in": bus.dropped_in if bus else 0,
        "mqtt-out": bus.dropped_out if bus else 0,
    }
    yield _by_word(f.DROPS, dropped)
    yield _one(f.LOOP_LAG, process.loop_lag)


def _one(family: Family, value: float) -> Samples:
    return Samples(family, [((), value)])


def _by_word(family: Family, values: Mapping[str, float]) -> Samples:
    """One label, in the order of its closed set."""
    return Samples(family, [((word,), value) for word, value in values.items()])


def _by_name(values: Mapping[str, float]) -> list[tuple[Labels, float]]:
    return [((name,), value) for name, value in sorted(values.items())]
