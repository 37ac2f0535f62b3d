"""`python -m bench.spares TRACE`: what it is worth to leave the spares of a new job spread. See bench/README.md.

A fault trace is played through the planner alone, twice: once with the job placed as the planner does it, with spares
left evenly between the rings, and once with rings heaped from the beginning of the order and all spares at its end. At
each fault that hits a ring, the distance from the lost node to the nearest spare is noted, and how many other rings the
repair moves.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.lives import Site
from ringlight.controller.planning.shaping import shortest
from ringlight.emulator.fault_trace import TraceEvent, read_trace

_WIDTH = 100  # columns when standard output is not a terminal


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one placement fared.

    Attributes:
        hits: faults that hit a ring while there was a spare.
        distance: mean positions from the lost node to the nearest spare.
        moved: mean other rings that moved for a repair.
        short: faults after which the job had fewer rings than it wanted.
    """

    hits: int
    distance: float
    moved: float
    short: int


@click.command()
@click.argument("trace", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--servers", type=click.IntRange(min=8), default=400, show_default=True, help="Nodes of the fabric.")
@click.option("--k", type=click.IntRange(1, 4), default=3, show_default=True, help="Longest hop distance.")
@click.option("--ring-nodes", type=click.IntRange(min=1), default=4, show_default=True, help="Nodes of a ring.")
@click.option(
    "--fill",
    type=click.FloatRange(0, 1, min_open=True),
    multiple=True,
    default=(0.8, 0.85, 0.9),
    show_default=True,
    help="Share of the nodes that the job takes; may be repeated.",
)
def main(trace: Path, servers: int, k: int, ring_nodes: int, fill: Sequence[float]) -> None:
    """Play a fault trace against spread and against heaped spares."""
    events = read_trace(trace)
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("FILL", "SPARES", "FAULTS IN RINGS", "MEAN DISTANCE", "RINGS MOVED A REPAIR", "SHORT"):
        table.add_column(header, justify="right", no_wrap=True)
    for share in fill:
        rings = int(servers * share) // ring_nodes
        for name, heaped in (("spread", False), ("heaped", True)):
            site = Site(servers, k, ring_nodes)
            site.lay(heaped_chains(site, rings) if heaped else [placed.chain for placed in site.plan(rings).placed])
            outcome = play(site, rings, events)
            means = f"{outcome.distance:.1f}", f"{outcome.moved:.2f}"
            table.add_row(f"{share:.0%}", name, str(outcome.hits), *means, str(outcome.short))
    console.print(table)


def heaped_chains(site: Site, rings: int) -> list[tuple[int, ...]]:
    """Rings from the beginning of the order on, each as early as it can be; every spare is left at the end."""
    strip = site.order.strip(0, site.order.size - 1)
    return list(shortest(strip, site.ring_nodes, rings))


def play(site: Site, rings: int, events: Sequence[TraceEvent]) -> Outcome:
    """One life under a trace. The servers it names stand where their order in it says."""
    order = site.order
    servers = sorted({event.server for event in events})
    position_of = {server: index * order.size // len(servers) for index, server in enumerate(servers)}
    faults: Counter[int] = Counter()
    distances: list[int] = []
    moved: list[int] = []
    short = 0
    for event in events:
        position = position_of[event.server]
        faults[position] += 1 if event.begins else -1
        order.set_usable(position, usable=not faults[position])
        over = order.ring_over(position)
        broken = [over.ring] if over is not None and position in over.ring.chain and faults[position] else []
        if broken:
            spares = order.idle.previous(position), order.idle.next(position)
            found = [abs(spare - position) for spare in spares if spare is not None]
            distances += [min(found)] if found else []
            order.lift(broken[0].name)
        plan = site.plan(rings, broken)
        if broken:
            moved.append(len(plan.moved))
            short += plan.rings < rings
        site.carry_out(plan)
    return Outcome(len(distances), sum(distances) / len(distances), sum(moved) / len(moved), short)


if __name__ == "__main__":
    main()
