"""`ringlight fabric audit`: light idle fibres, see where they end, and hold that against the fabric file."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import click
import yaml
from rich.console import Group

from ringlight.cli.client import ControllerConnection, Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, facts, listing, output_option
from ringlight.fabric.errors import InvalidError
from ringlight.protos.v1 import fabric_pb2 as pb


@click.command()
@controller_options
@output_option
@click.argument("nodes", metavar="[NODE...]", nargs=-1)
@click.option(
    "--loss",
    type=click.FloatRange(min=0, min_open=True, max=60),
    metavar="DB",
    help="A fibre that loses more is dirty.  [default: what the controller's settings say, 3]",
)
@click.option(
    "--write",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write the fibres as they lie, in the form of a fabric file; - for standard output.",
)
def audit(
    peer: Peer, output: OutputForm, *, nodes: tuple[str, ...], loss: float | None, write: Path | None
) -> ExitCode:
    """Find out how the fibres really lie.

    Idle nodes select paths in rounds, all of them at once, so that the light of all rounds together names the far end
    of every port. That takes 2 + 2 log2(bundles) rounds, each as long as a switch and a reading: seconds for a rack. No
    ring is touched. A node that carries one, or is not healthy, or is out of service, is left out and named; nodes
    named here must carry none. Nobody is given an audited node meanwhile, but a ring that loses a node: healing comes
    first, and the audit goes on without.

    Exits with 2 when the cabling differs from the fabric file, or a fibre is dirty. Ctrl-C breaks the audit off; its
    nodes go back to loopback.
    """
    request = pb.AuditFabricRequest(nodes=nodes, highest_loss=loss or 0.0)
    result = asyncio.run(_audit(peer, request))
    if write is not None:
        _write(result, write)
    if write is None or str(write) != "-":
        emit(result, output, lambda: _table(result))
    return ExitCode.DEGRADED if result.findings else ExitCode.FINE


async def _audit(peer: Peer, request: pb.AuditFabricRequest) -> pb.AuditResult:
    async with to_controller(peer) as controller:
        return await _follow(controller, request)


async def _follow(controller: ControllerConnection, request: pb.AuditFabricRequest) -> pb.AuditResult:
    """Tell on standard error how it goes."""
    async with aclosing(controller.stream(controller.stub.AuditFabric, request)) as replies:
        async for reply in replies:
            match reply.WhichOneof("news"):
                case "began":
                    _tell_start(reply.began)
                case "progress":
                    click.echo(f"round {reply.progress.done} of {reply.progress.rounds}", err=True)
                case "result":
                    return reply.result
    raise AssertionError("a stream of the controller ends with an error or a result")


def _tell_start(began: pb.AuditBegan) -> None:
    click.echo(f"auditing {len(began.nodes)} nodes in {began.rounds} rounds", err=True)
    for node, why in sorted(began.left_out.items()):
        click.echo(f"left out: {node} {why}", err=True)


def _write(result: pb.AuditResult, file: Path) -> None:
    """The fibres, one a line, as the key `fibres` of a fabric file has them."""
    lines = [f"- {yaml.safe_dump([found.a, found.b], default_flow_style=True).strip()}" for found in result.fibres]
    unseen = sum(not found.audited for found in result.fibres)
    note = f"# {unseen} of them could not be seen and are as the fabric file has them\n" if unseen else ""
    text = note + "fibres:\n" + "".join(f"{line}\n" for line in lines)
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidError(f"cannot write {file}: {error.strerror}", hint="give another file") from error


def _table(result: pb.AuditResult) -> Group:
    measured = [found.loss for found in result.fibres if found.HasField("loss")]
    seen = sum(found.audited for found in result.fibres)
    summary = facts(
        [
            ("fibres seen", f"{seen} of {len(result.fibres)}"),
            ("loss", f"{min(measured):.1f} to {max(measured):.1f} dB" if measured else "not measured"),
            ("findings", str(len(result.findings))),
            *((f"left: {node}", why) for node, why in sorted(result.left.items())),
        ]
    )
    if not result.findings:
        return Group(summary)
    rows = [(finding.kind, " ".join(finding.ports), finding.text) for finding in result.findings]
    return Group(summary, "", listing(("FINDING", "PORTS", "WHAT"), rows, free=("WHAT",)))
