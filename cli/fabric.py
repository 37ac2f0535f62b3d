"""`ringlight fabric`: check fabric files, and show what they describe."""

from pathlib import Path
from typing import Any

import click
from rich.console import Group

from ringlight.cli.output import OutputForm, emit_data, facts, listing, output_option
from ringlight.fabric.describe import describe
from ringlight.fabric.file import load_fabric
from ringlight.fabric.wiring import Wiring

_FILE = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def fabric() -> None:
    """Check and show fabric files."""


@fabric.command()
@_FILE
def check(file: Path) -> None:
    """Say whether FILE describes a fabric that can be built; list every mistake with its path in the file."""
    spec = load_fabric(file)
    gpus = len(spec.nodes) * spec.gpus
    click.echo(f"{file}: fabric {spec.name!r}, {len(spec.nodes)} nodes, {gpus} GPUs, {len(spec.fibres)} fibres: fine")


@fabric.command()
@_FILE
@output_option
def show(file: Path, output: OutputForm) -> None:
    """Show the fabric that FILE describes: nodes in order, bundles, and where every fibre leads."""
    described = describe(Wiring(load_fabric(file)))
    emit_data(described, output, lambda: _table(described))


def _table(described: dict[str, Any]) -> Group:
    bundles = ", ".join(
        f"b{number} on edge {bundle['edge']} ({bundle['modules']} modules)"
        for number, bundle in enumerate(described["bundles"])
    )
    summary = facts(
        [
            ("fabric", described["name"]),
            ("order", f"{len(described['nodes'])} nodes, {'closed' if described['closed'] else 'open'}"),
            ("k", str(described["k"])),
            ("gpus", f"{described['gpus']}, {described['gpus_per_node']} a node"),
            ("bundles", bundles),
            ("fibres", str(len(described["fibres"]))),
        ]
    )
    leading: dict[str, list[str]] = {node["name"]: [] for node in described["nodes"]}
    for fibre in described["fibres"]:
        for here, there in ((fibre["from"], fibre["to"]), (fibre["to"], fibre["from"])):
            node, _, port = here.partition("/")
            leading[node].append(f"{port}->{there}")
    nodes = listing(
        ("POSITION", "NODE", "RACK", "FIBRES"),
        [
            (str(node["position"]), node["name"], node["rack"] or "-", "  ".join(sorted(leading[node["name"]])))
            for node in described["nodes"]
        ],
        free=("FIBRES",),
    )
    return Group(summary, "", nodes)
