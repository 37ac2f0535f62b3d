"""Figures as a table for people and as JSON for programs."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from rich.table import Table
from rich.text import Text

from bench.figures import Figure, written
from ringlight.fabric.errors import InvalidError


def table_of(figures: Sequence[Figure]) -> Table:
    """One row a figure, the measurements set apart by lines."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("MEASUREMENT")
    table.add_column("WHAT", overflow="fold")
    table.add_column("FIGURE", justify="right", no_wrap=True)
    table.add_column("FLOOR", justify="right", no_wrap=True)
    table.add_column("RATIO", justify="right", no_wrap=True)
    table.add_column("FLOOR IS", overflow="fold", style="dim")
    last_of_block = [one.measurement != other.measurement for one, other in pairwise(figures)] + [False]
    for figure, is_last in zip(figures, last_of_block, strict=True):
        table.add_row(
            Text(figure.measurement),
            Text(figure.name),
            written(figure.value, figure.unit),
            written(figure.floor, figure.unit),
            f"{figure.ratio:,.1f}",
            Text(figure.floor_name),
            end_section=is_last,
        )
    return table


def write_json(figures: Iterable[Figure], path: Path, *, quick: bool) -> None:
    """Write every figure, with what the machine is: seconds or 1/s, unrounded.

    Raises:
        InvalidError: the file cannot be written.
    """
    document = {
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.system(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
        },
        "quick": quick,
        "figures": [{**asdict(figure), "ratio": figure.ratio} for figure in figures],
    }
    write_document(document, path)


def write_document(document: object, path: Path) -> None:
    """Write plain data as JSON.

    Raises:
        InvalidError: the file cannot be written.
    """
    try:
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidError(
            f"cannot write {path}: {error.strerror}", hint="give --json a file in a folder that exists"
        ) from error
