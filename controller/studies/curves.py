"""The points of the cross-ToR study on disk: as CSV, and drawn."""

import csv
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from ringlight.controller.studies.cross_tor import RING_NODES, SHARE, Point
from ringlight.fabric.errors import RinglightError

COLUMNS = (
    "nodes",
    "nodes_a_rack",
    "k",
    "fault_rate",
    "aligned",
    "rack_blind",
    "placed",
    "seconds",
    "seeds",
)


class PlotError(RinglightError):
    """The curves cannot be drawn here."""


def record(point: Point) -> dict[str, int | float | str]:
    """A point under the names of `COLUMNS`; seeds are listed with blanks between."""
    return {
        "nodes": point.case.nodes,
        "nodes_a_rack": point.case.nodes_a_rack,
        "k": point.case.k,
        "fault_rate": point.case.fault_rate,
        "aligned": round(point.aligned, 5),
        "rack_blind": round(point.rack_blind, 5),
        "placed": round(point.placed, 5),
        "seconds": round(point.seconds, 3),
        "seeds": " ".join(map(str, point.case.seeds)),
    }


def write_csv(file: Path, points: Sequence[Point]) -> None:
    """One line a point."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(record(point) for point in points)


def draw(file: Path, points: Sequence[Point]) -> None:
    """The curves, one panel for each K, in the format of the file's name.

    Raises:
        PlotError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as error:
        raise PlotError(
            f"{file} was not drawn: matplotlib is not installed",
            hint="install the extra: pip install 'ringlight[study]'",
        ) from error
    panels = sorted({point.case.k for point in points})
    figure = Figure(figsize=(4.5 * len(panels), 3.6), layout="constrained")
    for number, k in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), number)
        chosen = sorted((p for p in points if p.case.k == k), key=lambda p: (p.case.nodes_a_rack, p.case.fault_rate))
        for colour, (nodes_a_rack, group) in enumerate(groupby(chosen, key=lambda point: point.case.nodes_a_rack)):
            curve = list(group)
            rates = [100 * point.case.fault_rate for point in curve]
            axes.plot(
                rates, [p.aligned for p in curve], f"C{colour}o-", markersize=3, label=f"p={nodes_a_rack}, aligned"
            )
            axes.plot(rates, [p.rack_blind for p in curve], f"C{colour}:", label=f"p={nodes_a_rack}, rack-blind")
        axes.set_title(f"K={k}, {chosen[0].case.nodes} nodes, rings of {RING_NODES}, job of {SHARE:.0%}", fontsize=9)
        axes.set_xlabel("nodes down, %")
        axes.set_ylabel("cross-ToR rate")
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(file, dpi=100)
