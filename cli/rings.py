"""`ringlight rings`: every ring, its chain of nodes and why it is in its state."""

import click
from rich.table import Table

from ringlight.cli.client import ControllerConnection, Peer, controller_options
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, listing, output_option, word
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb


@click.command()
@controller_options
@output_option
@watch_option
@click.option("--job", default="", metavar="NAME", help="Only the rings of this job.")
def rings(peer: Peer, output: OutputForm, *, watch: bool, job: str) -> ExitCode:
    """List the rings with their chains.

    NODES is the chain in order. -o json also gives the GPUs in ring order, the rank order.
    """

    async def fetch(controller: ControllerConnection) -> pb.ListRingsReply:
        return await controller.call(controller.stub.ListRings, pb.ListRingsRequest(job=job))

    return show(View(fetch, _table), peer, output, watch=watch)


def _table(reply: pb.ListRingsReply) -> Table:
    return listing(
        ("RING", "STATE", "GPUS", "GEN", "NODES", "CAUSE"),
        [
            (ring.name, word(ring.state), str(len(ring.gpus)), str(ring.generation), " ".join(ring.nodes), ring.cause)
            for ring in reply.rings
        ],
        free=("RING", "NODES", "CAUSE"),
    )
