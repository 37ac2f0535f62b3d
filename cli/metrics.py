"""`ringlight metrics`: every metric family of the controller and of agents, with its labels and meaning."""

from collections.abc import Iterable, Iterator
from typing import Any

import click
from rich.table import Table

from ringlight.agents import families as agent
from ringlight.agents.drivers.cmis import metrics as cmis
from ringlight.agents.drivers.polatis import metrics as polatis
from ringlight.agents.gpu import metrics as gpu
from ringlight.agents.ports import MetricFamily
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit_data, listing, output_option
from ringlight.controller.metrics import families as controller
from ringlight.fabric.metric_family import Family

_INTRODUCTION = """\
# Metrics

What `/metrics` shows, by daemon. This page is written by `make docs` from the code; `ringlight metrics` shows the same.

Units are base units: seconds, celsius, volts; a ratio is 0 to 1. Counters count since the start of their process. The
values of a label are a closed set; what happened never yet is 0, not absent. Only these come from outside: `node` (on
the controller only nodes that are not HEALTHY), `job`, `gpu`, `bundle`, `module`, `lane`, `port`, `version`.
"""


@click.command()
@click.option("--markdown", is_flag=True, help="As the page docs/metrics.md.")
@output_option
def metrics(*, markdown: bool, output: OutputForm) -> ExitCode:
    """List every metric family, with its labels and meaning."""
    if markdown:
        click.echo(page(), nl=False)
        return ExitCode.FINE
    document = {"families": [_record(section, family) for section, families in sections() for family in families]}
    emit_data(document, output, _table)
    return ExitCode.FINE


def sections() -> Iterator[tuple[str, tuple[Family, ...]]]:
    """Every family, under the headings of the page."""
    for heading, families in controller.SECTIONS:
        yield f"Controller: {heading}", families
    yield "Agent", agent.FAMILIES
    yield "Agent: OCSTrx modules", _shown(cmis.FAMILIES)
    yield "Agent: optical matrix switch", _shown(polatis.FAMILIES)
    yield "Agent: GPUs", _shown(gpu.FAMILIES)


def page() -> str:
    """The page docs/metrics.md."""
    return "\n".join([_INTRODUCTION, *(_section(heading, families) for heading, families in sections())])


def _section(heading: str, families: Iterable[Family]) -> str:
    rows = [
        f"| `{family.name}` | {family.kind} | {_labels(family) or '-'} | {family.text.rstrip('.')} |"
        for family in families
    ]
    return "\n".join([f"## {heading}\n", "| family | kind | labels | meaning |", "|---|---|---|---|", *rows, ""])


def _labels(family: Family) -> str:
    return "; ".join(
        f"`{label.name}`: {', '.join(label.values)}" if label.values else f"`{label.name}`" for label in family.labels
    )


def _shown(families: Iterable[MetricFamily]) -> tuple[Family, ...]:
    return tuple(family.shown for family in families)


def _record(section: str, family: Family) -> dict[str, Any]:
    return {
        "section": section,
        "name": family.name,
        "kind": family.kind.value,
        "labels": {label.name: list(label.values) for label in family.labels},
        "buckets": list(family.buckets),
        "text": family.text,
    }


def _table() -> Table:
    rows = [
        (family.name, family.kind, ", ".join(label.name for label in family.labels), family.text)
        for _, families in sections()
        for family in families
    ]
    return listing(("family", "kind", "labels", "meaning"), rows, free=("labels", "meaning"))
