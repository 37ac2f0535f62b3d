"""`ringlight fabric`: check fabric files, show what they describe, write them, and see whether they are true."""

import re
from pathlib import Path
from typing import Any

import click
from rich.console import Group

from ringlight.cli.audit import audit
from ringlight.cli.output import OutputForm, emit_data, facts, listing, output_option
from ringlight.fabric.describe import describe
from ringlight.fabric.file import load_fabric
from ringlight.fabric.generate import Site, fabric_text
from ringlight.fabric.schema import MAX_K, MAX_NODES
from ringlight.fabric.spec import nearest_distances
from ringlight.fabric.wiring import Wiring

_WHOLE_NUMBER = re.compile(r" *[0-9]{1,9} *")

_FILE = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def fabric() -> None:
    """Check, show and generate fabric files; audit the cabling."""


fabric.add_command(audit)


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


def _read_distances(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Hop distances as they are typed: ``1,2,4``."""
    if value is None:
        return None
    parts = value.split(",")
    if not all(_WHOLE_NUMBER.fullmatch(part) for part in parts):
        raise click.BadParameter(f"{value!r} is no list of whole numbers such as 1,2,4")
    return tuple(map(int, parts))


@fabric.command()
@click.option("--racks", type=click.IntRange(1, MAX_NODES), required=True, help="Number of racks.")
@click.option("--nodes-per-rack", type=click.IntRange(1, MAX_NODES), required=True, help="Nodes in each rack.")
@click.option(
    "--domains", type=click.IntRange(1, MAX_NODES), help="Aggregation domains; the number must divide the racks."
)
@click.option("--k", type=click.IntRange(1, MAX_K), help="Hop distances 1 to K.  [default: 2]")
@click.option(
    "--distances",
    metavar="D,D,...",
    callback=_read_distances,
    help="Other hop distances than 1 to K, such as 1,2,4.",
)
@click.option("--gpus", type=click.IntRange(2), default=4, show_default=True, help="GPUs a node.")
@click.option("--line", is_flag=True, help="An open order: the last node is not cabled to the first.")
@click.option("--name", help="Name of the fabric.  [default: rack- and the number of nodes]")
@click.option("--prefix", default="n", show_default=True, help="What the names of nodes begin with, before a number.")
@click.option("--list", "listed", is_flag=True, help="List every node with a name that tells its place, such as r3-n5.")
def generate(
    *,
    racks: int,
    nodes_per_rack: int,
    domains: int | None,
    k: int | None,
    distances: tuple[int, ...] | None,
    gpus: int,
    line: bool,
    name: str | None,
    prefix: str,
    listed: bool,
) -> None:
    """Write a fabric file to standard output.

    The order takes one node of every rack in turn, so that neighbours stand in different racks and rings cut at equal
    offsets have their equal ranks in the same one.
    """
    if k is not None and distances is not None:
        raise click.UsageError("give --k or --distances, not both")
    site = Site(
        name=name if name is not None else f"rack-{racks * nodes_per_rack}",
        racks=racks,
        nodes_per_rack=nodes_per_rack,
        domains=domains or 0,
        distances=distances or nearest_distances(k or 2),
        gpus=gpus,
        closed=not line,
        prefix=prefix,
        listed=listed,
    )
    click.echo(fabric_text(site), nl=False)


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
            ("distances", ", ".join(map(str, described["distances"]))),
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
