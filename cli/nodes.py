"""`ringlight nodes`: every node, its verdict and what its bundles select."""

from collections.abc import Iterable

import click
from rich.table import Table
from rich.text import Text

from ringlight.cli.client import ControllerConnection, Peer, controller_options
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, listing, output_option, word
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb

_SHORT_PATHS = {"LOOPBACK": "loop", "PATH_1": "p1", "PATH_2": "p2", "DARK": "dark", "UNKNOWN": "?"}


@click.command()
@controller_options
@output_option
@watch_option
@click.option("--abnormal", is_flag=True, help="Leave out HEALTHY nodes that nothing lies over.")
def nodes(peer: Peer, output: OutputForm, *, watch: bool, abnormal: bool) -> ExitCode:
    """List the nodes in fabric order.

    PATHS has one entry a bundle, as read from the hardware: loop (loopback), p1, p2, dark or ? (unknown). Where
    another path is wanted, it follows after an arrow: p1>loop. What lies over a node (cordoned, draining, maintenance
    and how long it goes on, quarantined) follows the verdict and says nothing about the node's health.
    """

    async def fetch(controller: ControllerConnection) -> pb.ListNodesReply:
        return await controller.call(controller.stub.ListNodes, pb.ListNodesRequest(abnormal_only=abnormal))

    return show(View(fetch, lambda reply: nodes_table(reply.nodes)), peer, output, watch=watch)


def nodes_table(nodes: Iterable[pb.Node]) -> Table:
    """Nodes, one a line."""
    return listing(
        ("NODE", "RACK", "VERDICT", "RING", "AGENT", "PATHS", "REASON"),
        [
            (
                node.name,
                node.rack or "-",
                _verdict(node),
                node.ring or ("spare" if node.spare else "-"),
                node.agent or "-",
                _paths(node),
                "; ".join(filter(None, (node.reason, node.overlay_reason, node.quarantine))),
            )
            for node in nodes
        ],
        free=("RACK", "RING", "AGENT", "PATHS", "REASON"),
    )


def _verdict(node: pb.Node) -> Text:
    text = word(node.verdict)
    if node.overlay:
        text.append(f" {node.overlay}", style="cyan")
    if node.overlay_seconds:
        text.append(f" {_span(node.overlay_seconds)}", style="cyan")
    if node.quarantine:
        text.append(" quarantined", style="red")
    return text


def _span(seconds: float) -> str:
    """What is left of a time, in the largest unit that suits it."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f}{name}"
    return f"{seconds:.0f}s"


def _paths(node: pb.Node) -> str:
    wanted = [*node.desired, *node.paths[len(node.desired) :]]
    read = [*node.paths, *("UNKNOWN" for _ in wanted[len(node.paths) :])]
    return " ".join(
        _short(path) if path == want else f"{_short(path)}>{_short(want)}"
        for path, want in zip(read, wanted, strict=True)
    )


def _short(path: str) -> str:
    return _SHORT_PATHS.get(path, path)
