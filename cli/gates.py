"""`ringlight pause`, `resume` and `breaker`: what keeps the controller from moving anything."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import click
import grpc.aio
from rich.table import Table

from ringlight.cli.client import ControllerConnection, Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, facts, output_option
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb

_Request = TypeVar("_Request")


def gate_words(fabric: pb.Fabric) -> str:
    """Which gates are shut, and why."""
    shut = [f"{gate.name} is shut: {gate.reason}" for gate in fabric.gates if not gate.open]
    return "; ".join(shut) or "all open"


def held(fabric: pb.Fabric) -> bool:
    """Whether something keeps the controller from moving anything: a gate beside the one that judges silence."""
    return any(not gate.open for gate in fabric.gates if gate.name != "silence")


@click.command()
@controller_options
@output_option
@click.option("--reason", default="", metavar="TEXT", help="Shown to whoever asks later.")
def pause(peer: Peer, output: OutputForm, *, reason: str) -> ExitCode:
    """Let the controller observe, and change nothing.

    Verdicts go on, and rings that break stay broken until `ringlight resume`. A change that is under way comes to its
    end. Survives a restart of the controller.
    """
    fabric = asyncio.run(_ask(peer, lambda controller: (controller.stub.Pause, pb.PauseRequest(reason=reason))))
    emit(fabric, output, lambda: _table(fabric))
    return ExitCode.FINE


@click.command()
@controller_options
@output_option
def resume(peer: Peer, output: OutputForm) -> ExitCode:
    """End a pause: the present state is healed afresh."""
    fabric = asyncio.run(_ask(peer, lambda controller: (controller.stub.Resume, pb.ResumeRequest())))
    emit(fabric, output, lambda: _table(fabric))
    return ExitCode.FINE


@click.group()
def breaker() -> None:
    """Look at the breaker, and reset it after it tripped.

    It trips when very many nodes fail at once, and nothing moves until a person has looked.
    """


@breaker.command()
@controller_options
@output_option
@watch_option
def status(peer: Peer, output: OutputForm, *, watch: bool) -> ExitCode:
    """Whether the breaker tripped, why, and how much of its allowance is used. Exits with 2 when it tripped."""
    return show(View(_fetch, _table, _exit_code), peer, output, watch=watch)


@breaker.command()
@controller_options
@output_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(peer: Peer, output: OutputForm, *, yes: bool) -> ExitCode:
    """Let things move again, by the present state of the fabric: what failed is bypassed at once, what is well stays.

    Look first at `ringlight status` and `ringlight events`: if the nodes are not really dead, find out why they look
    so. Nothing that happened meanwhile is replayed.
    """
    if not yes:
        click.confirm("Have you looked, and shall every FAILED node be bypassed now?", abort=True)
    fabric = asyncio.run(_ask(peer, lambda controller: (controller.stub.ResetBreaker, pb.ResetBreakerRequest())))
    emit(fabric, output, lambda: _table(fabric))
    return ExitCode.FINE


async def _fetch(controller: ControllerConnection) -> pb.Fabric:
    return await controller.call(controller.stub.GetFabric, pb.GetFabricRequest())


async def _ask(
    peer: Peer,
    choose: "Callable[[ControllerConnection], tuple[grpc.aio.UnaryUnaryMultiCallable[_Request, pb.Fabric], _Request]]",
) -> pb.Fabric:
    async with to_controller(peer) as controller:
        return await controller.call(*choose(controller))


def _exit_code(fabric: pb.Fabric) -> ExitCode:
    tripped = any(gate.name == "breaker" and not gate.open for gate in fabric.gates)
    return ExitCode.DEGRADED if tripped else ExitCode.FINE


def _table(fabric: pb.Fabric) -> Table:
    allowance = f"{fabric.newly_failed} of {fabric.breaker_allowance} nodes that may newly fail within the window"
    gates = [(gate.name, "open" if gate.open else f"shut: {gate.reason}") for gate in fabric.gates]
    return facts([*gates, ("allowance used", allowance)])
