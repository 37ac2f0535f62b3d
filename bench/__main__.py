"""`python -m bench`: run the measurements and show their figures."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console

from bench import engine, exposition, healing, modules, mqtt, page, planner, sessions, store, trace
from bench.figures import Figure
from bench.report import table_of, write_json
from ringlight.fabric.errors import RinglightError

_MEASUREMENTS: dict[str, Callable[..., list[Figure]]] = {
    "healing": healing.measure,
    "planner": planner.measure,
    "engine": engine.measure,
    "trace": trace.measure,
    "store": store.measure,
    "sessions": sessions.measure,
    "modules": modules.measure,
    "exposition": exposition.measure,
    "mqtt": mqtt.measure,
    "page": page.measure,
}
_WIDTH = 140  # columns when standard output is not a terminal


@click.command()
@click.option("--only", multiple=True, type=click.Choice(list(_MEASUREMENTS)), help="Only this one; may be repeated.")
@click.option("--quick", is_flag=True, help="Fewer rounds and smaller fabrics, in about 10 seconds.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the figures here too."
)
def main(*, only: Sequence[str], quick: bool, json_file: Path | None) -> None:
    """Measure Ringlight; every figure with the ratio to a floor of the same run. See bench/README.md."""
    figures: list[Figure] = []
    try:
        for name in only or _MEASUREMENTS:
            click.echo(f"measuring {name} ...", err=True)
            figures += _MEASUREMENTS[name](quick=quick)
        console = Console() if sys.stdout.isatty() else Console(width=_WIDTH, highlight=False)
        console.print(table_of(figures))
        if json_file is not None:
            write_json(figures, json_file, quick=quick)
    except RinglightError as error:
        raise click.ClickException(f"{error}" + (f" ({error.hint})" if error.hint else "")) from error


if __name__ == "__main__":
    main()
