"""`python -m bench.scaling`: the planner on 1,000 to 1,000,000 nodes, as a table and as JSON. See bench/README.md."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.figures import Unit, written
from bench.planner import Scale, scale
from bench.report import write_document
from ringlight.fabric.errors import RinglightError

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_WIDTH = 140  # columns when standard output is not a terminal


@click.command()
@click.option("--nodes", "sizes", type=click.IntRange(min=200), multiple=True, help="Sizes; may be repeated.")
@click.option("--repairs", type=click.IntRange(min=1), default=300, show_default=True, help="Single faults a size.")
@click.option("--bursts", type=click.IntRange(min=1), default=30, show_default=True, help="Bursts of 8 faults a size.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write them here too.")
def main(sizes: Sequence[int], repairs: int, bursts: int, json_file: Path | None) -> None:
    """Measure how the planner's work grows with the number of nodes."""
    found: list[Scale] = []
    for nodes in sizes or _SIZES:
        click.echo(f"measuring {nodes:,} nodes ...", err=True)
        found.append(scale(nodes, repairs=repairs, bursts=bursts))
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH, highlight=False)
    console.print(_table(found))
    if json_file is not None:
        try:
            write_document([asdict(one) for one in found], json_file)
        except RinglightError as error:
            raise click.ClickException(f"{error} ({error.hint})") from error
        click.echo(f"written to {json_file}: times in seconds, unrounded", err=True)


def _table(found: Sequence[Scale]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    headers = (
        *("NODES", "RINGS", "BUILD", "REPAIR P50", "REPAIR P99", "RINGS MOVED P50"),
        *("8 FAULTS P50", "ALL ANEW", "ALL ANEW / REPAIR", "BYTES A NODE"),
    )
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    for one in found:
        table.add_row(
            f"{one.nodes:,}",
            f"{one.rings:,}",
            *(written(seconds, Unit.SECONDS) for seconds in (one.build, one.repair_p50, one.repair_p99)),
            f"{one.moved_p50:g}",
            *(written(seconds, Unit.SECONDS) for seconds in (one.burst_p50, one.full)),
            f"{one.full / one.repair_p50:,.0f}",
            f"{one.bytes_a_node:.0f}",
        )
    return table


if __name__ == "__main__":
    main()
