"""`ringlight pause`, `resume` and `breaker`: what keeps the controller from moving anything."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import click
import grpc.aio
from rich.table import Table

from ringlight.cli.changes import confirmed
from ringlight.cli.client import ControllerConnection, Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, facts, output_option
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb

_Request = TypeVar("_Request")


_ON_RESET = "what is FAILED then is bypassed at once, what recovered meanwhile stays as it is; nothing is replayed"


def gate_words(fabric: pb.Fabric) -> str:
    """Which gates are shut, and why."""
    if not fabric.gates:
        return "not told: the controller is of an older release"
    shut = [f"{gate.name} is shut: {gate.reason}" for gate in fabric.gates if not gate.open]
    return "; ".join(shut) or "all open"


def held(fabric: pb.Fabric) -> bool:
    """Whether a gate waits for a person. The one that judges silence is shut after every start, and opens by itself."""
    return any(not gate.open for gate in fabric.gates if not (gate.name == "silence" and fabric.starting))


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
    emit(fabric, output, lambda: _gates(fabric))
    return ExitCode.FINE


@click.command()
@controller_options
@output_option
def resume(peer: Peer, output: OutputForm) -> ExitCode:
    """End a pause: the present state is healed afresh."""
    fabric = asyncio.run(_ask(peer, lambda controller: (controller.stub.Resume, pb.ResumeRequest())))
    emit(fabric, output, lambda: _gates(fabric))
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
    """Whether the breaker tripped, and why.

    Also how much of its allowance is used, and what a reset would do. Exits with 2 when it tripped.
    """
    return show(View(_fetch, _breaker, _exit_code), peer, output, watch=watch)


@breaker.command()
@controller_options
@output_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(peer: Peer, output: OutputForm, *, yes: bool) -> ExitCode:
    """Let things move again, by the present state of the fabric: what failed is bypassed at once, what is well stays.

    Look first at `ringlight status` and `ringlight events`: if the nodes are not really dead, find out why they look
    so. Nothing that happened meanwhile is replayed. Asks first on a terminal; elsewhere --yes is required.
    """
    if not confirmed(
        "Have you looked, and shall every FAILED node be bypassed now?",
        doing="resetting the breaker, which bypasses every FAILED node,",
        otherwise="the breaker was not reset",
        yes=yes,
    ):
        return ExitCode.ERROR
    fabric = asyncio.run(_ask(peer, lambda controller: (controller.stub.ResetBreaker, pb.ResetBreakerRequest())))
    emit(fabric, output, lambda: _breaker(fabric))
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
    return ExitCode.FINE if _tripped(fabric) is None else ExitCode.DEGRADED


def _tripped(fabric: pb.Fabric) -> str | None:
    return next((gate.reason for gate in fabric.gates if gate.name == "breaker" and not gate.open), None)


def _gates(fabric: pb.Fabric) -> Table:
    return facts((gate.name, "open" if gate.open else f"shut: {gate.reason}") for gate in fabric.gates)


def _breaker(fabric: pb.Fabric) -> Table:
    tripped = _tripped(fabric)
    used = f"{fabric.newly_failed} of {fabric.breaker_allowance} nodes that may newly fail within the window"
    return facts(
        [
            ("breaker", "has not tripped" if tripped is None else f"tripped, nothing moves: {tripped}"),
            ("allowance used", used),
            ("on reset", "nothing to reset" if tripped is None else _ON_RESET),
        ]
    )
