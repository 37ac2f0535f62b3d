"""`ringlight study`: questions about planning, answered by planning many random fabrics."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit_data, listing, output_option
from ringlight.controller.studies.cross_tor import NODES_A_RACK, Point, cases, study
from ringlight.controller.studies.curves import draw, record, write_csv

_PERCENT = tuple(rate / 100 for rate in range(11))
_QUICK_PERCENT = (0.0, 0.03, 0.05, 0.07, 0.1)
_QUICK_SEEDS = 2

_PLOTS = (".pdf", ".png", ".svg")


class _NewFile(click.Path):
    """A file to be written at the end: whatever is wrong with it is said at the beginning."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that its folder is there, and that its name tells a format we have."""
        file = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not file.parent.is_dir():
            self.fail(f"there is no folder {str(file.parent)!r} to write {file.name!r} into", param, ctx)
        if self._suffixes and file.suffix not in self._suffixes:
            self.fail(f"{file.name!r} must end with one of {', '.join(self._suffixes)}", param, ctx)
        return file


@click.group("study")
def study_group() -> None:
    """Measure what planning achieves on random fabrics."""


@study_group.command("cross-tor")
@click.option("--csv", "csv_file", type=_NewFile(), help="Write the points to this file.")
@click.option("--plot", "plot_file", type=_NewFile(*_PLOTS), help="Draw the curves into this file, such as out.png.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="Random fabrics a point.")
@click.option("--quick", is_flag=True, help=f"At most {_QUICK_SEEDS} seeds a point, and fewer points.")
@click.option("--nodes", type=click.IntRange(min=64), default=2048, show_default=True, help="Nodes of the fabric.")
@output_option
def cross_tor(
    *, csv_file: Path | None, plot_file: Path | None, seeds: int, quick: bool, nodes: int, output: OutputForm
) -> ExitCode:
    """How much data-parallel traffic leaves the rack, for 0 to 10 % of nodes down.

    A job of 85 % of the GPUs in rings of 32 is placed on fabrics with 2, 4 and 8 nodes a rack and K = 2 and 3, with
    regard to racks and without. All of it takes a quarter of an hour on two CPUs; --quick takes half a minute.
    """
    if nodes % max(NODES_A_RACK):
        raise click.BadParameter(f"must be a multiple of {max(NODES_A_RACK)}", param_hint="--nodes")
    chosen = range(min(seeds, _QUICK_SEEDS) if quick else seeds)
    asked = cases(nodes=nodes, seeds=chosen, fault_rates=_QUICK_PERCENT if quick else _PERCENT)
    click.echo(f"{len(asked)} points of {len(chosen)} fabrics each, seeds {chosen[0]} to {chosen[-1]}", err=True)
    points = list(_counted(study(asked), len(asked)))
    if csv_file:
        write_csv(csv_file, points)
    emit_data({"points": [record(point) for point in points]}, output, lambda: _table(points))
    if plot_file:
        draw(plot_file, points)
    return ExitCode.FINE


def _counted(points: Iterable[Point], total: int) -> Iterator[Point]:
    """Say on standard error how far the study is, at each tenth."""
    for number, point in enumerate(points, start=1):
        if number * 10 // total > (number - 1) * 10 // total:
            click.echo(f"{number} of {total} points", err=True)
        yield point


def _table(points: Iterable[Point]) -> Table:
    return listing(
        ("NODES A RACK", "K", "DOWN", "ALIGNED", "RACK-BLIND", "PLACED", "SECONDS"),
        [
            (
                str(point.case.nodes_a_rack),
                str(point.case.k),
                f"{point.case.fault_rate:.0%}",
                f"{point.aligned:.3f}",
                f"{point.rack_blind:.3f}",
                f"{point.placed:.1%}",
                f"{point.seconds:.2f}",
            )
            for point in points
        ],
    )
