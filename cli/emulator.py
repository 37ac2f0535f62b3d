"""`ringlight emulator`: run an emulated fabric, break it, repair it, and ask what its light does."""

import asyncio
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringlight.cli.client import Peer, emulator_options, to_emulator
from ringlight.cli.daemons import announce, daemon_options, run_daemon
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.faults import KINDS, inject_request, kind_name
from ringlight.cli.light import trace_view
from ringlight.cli.options import EMULATOR_ADDRESS, HOST_PORT, dialled_controller
from ringlight.cli.output import OutputForm, emit, facts, listing, output_option
from ringlight.cli.polatis import polatis
from ringlight.cli.replay import replay_command
from ringlight.protos.v1 import emulator_pb2 as pb

_NUMBER = click.IntRange(0, 2**32 - 1)


class _Lanes(click.ParamType[int]):
    """Lanes such as ``1,2,8``, as one bit each."""

    name = "LANES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bits."""
        parts = str(value).split(",")
        if not all(part in _LANE_NUMBERS for part in parts):
            self.fail(f"{str(value)!r} is no list of lanes such as 1,2,8", param, ctx)
        return sum({1 << int(part) - 1 for part in parts})


_LANE_NUMBERS = tuple("12345678")
_LANES = _Lanes()


@click.group()
def emulator() -> None:
    """Run an emulated fabric, break it and repair it."""


emulator.add_command(replay_command)
emulator.add_command(polatis)


@emulator.command()
@click.option("--fabric", "fabric_file", type=click.Path(path_type=Path), required=True, help="The fabric file.")
@dialled_controller("Address of the controller that the emulated agents dial.")
@click.option("--no-agents", is_flag=True, help="Emulate only the hardware; agents come over --socket.")
@click.option("--listen", type=HOST_PORT, default=EMULATOR_ADDRESS, show_default=True, help="gRPC, for fail and trace.")
@click.option("--socket", type=click.Path(path_type=Path), help="Unix socket at which agents find the hardware.")
@click.option(
    "--modules",
    type=click.Choice(["fast", "registers"]),
    default="fast",
    show_default=True,
    help="fast: bundles are objects; registers: made of modules that answer as real ones do.",
)
@click.option(
    "--module-socket",
    type=click.Path(path_type=Path),
    help="Unix socket of the module buses, with --modules registers.",
)
@click.option(
    "--eeprom-files",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Show every module as DIR/NODE-SELECT/eeprom, with --modules registers; needs FUSE.",
)
@click.option(
    "--nodes-per-agent", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes an agent serves."
)
@click.option(
    "--state", type=click.Path(path_type=Path), help="Directory in which the emulated agents keep their state."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of all randomness, such as switching times.")
@daemon_options
def run(
    *,
    fabric_file: Path,
    address: str,
    listen: str,
    socket: Path | None,
    modules: str,
    module_socket: Path | None,
    eeprom_files: Path | None,
    nodes_per_agent: int,
    state: Path | None,
    seed: int,
    no_agents: bool,
    log_level: str,
    until_stdin_closes: bool,
) -> None:
    """Emulate the hardware of a whole fabric and run its agents.

    Prints one line on standard output when it is ready, and logs to standard error. SIGTERM and Ctrl-C stop it in
    order, with exit code 0.
    """
    if modules == "fast" and (module_socket is not None or eeprom_files is not None):
        raise click.UsageError("--module-socket and --eeprom-files show modules: add --modules registers")
    from ringlight.emulator.daemon import run_emulator  # noqa: PLC0415  # heavy, and not for the other commands
    from ringlight.emulator.fidelity import Fidelity  # noqa: PLC0415
    from ringlight.fabric.file import load_fabric  # noqa: PLC0415

    daemon = run_emulator(
        fabric=load_fabric(fabric_file),
        controller=None if no_agents else address,
        listen=listen,
        socket=socket,
        fidelity=Fidelity(modules),
        module_socket=module_socket,
        eeprom_files=eeprom_files,
        nodes_per_agent=nodes_per_agent,
        state_dir=state,
        seed=seed,
        ready=announce,
    )
    run_daemon(daemon, log_level=log_level, until_stdin_closes=until_stdin_closes)


@emulator.command()
@emulator_options
@output_option
@click.argument("kind", metavar="KIND", type=click.Choice(list(KINDS)))
@click.argument("target", metavar="NODE|HOP")
@click.option("--gpu", type=_NUMBER, help="GPU in the node, for gpu-xid and gpu-lost.  [default: 0]")
@click.option("--xid", type=_NUMBER, help="NVIDIA XID, for gpu-xid.  [default: 79]")
@click.option("--recovery", metavar="ACTION", help="What the driver then asks for, for gpu-xid, such as node-reboot.")
@click.option("--bundle", type=_NUMBER, help="Bundle in the node, for module-* and bundle-*.  [default: 0]")
@click.option("--module", type=_NUMBER, help="Module in the bundle, for module-*.  [default: 0]")
@click.option(
    "--delay",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Added to each switch, for bundle-slow, which needs it; for module-fault how long, where that takes time.",
)
@click.option("--with", metavar="HOP", help="The other hop, for fibre-swapped, which needs it.")
@click.option(
    "--loss",
    type=click.FloatRange(min=0, min_open=True),
    metavar="DB",
    help="What the dirt takes from the light, for fibre-dirty, which needs it.",
)
@click.option("--how", metavar="WAY", help="In which way, for module-fault, such as hot, heater-open or nack-storm.")
@click.option("--amount", type=float, help="dB, degrees or a probability, for ways of module-fault that need it.")
@click.option("--lanes", type=_LANES, help="Such as 1,2,8, for ways of module-fault that strike lanes.  [default: all]")
@click.option("--id", "fault_id", default="", metavar="ID", help="Name of the fault, for repair.  [default: made up]")
def fail(
    peer: Peer,
    output: OutputForm,
    kind: str,
    target: str,
    fault_id: str,
    **details: float | str | None,
) -> ExitCode:
    """Break something.

    KIND is gpu-xid, gpu-lost, power-off (the node, its modules and its agent are gone), agent-crash, agent-hang,
    fibre-cut, fibre-swapped (two hops exchange their far ends), fibre-dirty, module-dead (its bundle carries nothing),
    module-fault (one module misbehaves, with --modules registers; see docs/emulator.md), bundle-stuck (ignores
    commands) or bundle-slow.

    NODE is a node such as n3; for a fibre it is a HOP such as n3+2, the fibre from n3 over a distance of 2.
    """
    request = inject_request(
        kind, target, fault_id, {name: value for name, value in details.items() if value is not None}
    )
    fault = asyncio.run(_inject(peer, request))
    emit(
        fault,
        output,
        lambda: facts(
            [("fault", fault.id), ("kind", kind_name(fault.kind)), ("node", fault.node), ("component", fault.component)]
        ),
    )
    return ExitCode.FINE


@emulator.command()
@emulator_options
@output_option
@click.argument("fault_id", metavar="[ID]", required=False)
@click.option("--node", help="Repair every fault of this node.")
@click.option("--all", "everything", is_flag=True, help="Repair every fault of the fabric.")
def repair(peer: Peer, output: OutputForm, *, fault_id: str | None, node: str | None, everything: bool) -> ExitCode:
    """Repair one fault, a node or everything."""
    requests = [pb.RepairRequest(all=True)] if everything else []
    if fault_id is not None:
        requests.append(pb.RepairRequest(id=fault_id))
    if node is not None:
        requests.append(pb.RepairRequest(node=node))
    if len(requests) != 1:
        raise click.UsageError("say what to repair: ID, --node NODE or --all, and only one of them")
    reply = asyncio.run(_repair(peer, requests[0]))
    emit(reply, output, lambda: _fault_table(list(reply.repaired)))
    return ExitCode.FINE


@emulator.command()
@emulator_options
@output_option
def faults(peer: Peer, output: OutputForm) -> ExitCode:
    """List what is broken."""
    reply = asyncio.run(_list_faults(peer))
    emit(reply, output, lambda: _fault_table(list(reply.faults)))
    return ExitCode.FINE


@emulator.command()
@emulator_options
@output_option
@click.option("--gpus", is_flag=True, help="Show every cycle GPU by GPU.")
def trace(peer: Peer, output: OutputForm, *, gpus: bool) -> ExitCode:
    """The GPU cycles that light and copper form at this moment.

    A cycle over several nodes is a ring; a node that is a cycle of its own is idle. GPUs whose light ends nowhere
    are dangling. JSON and YAML always hold every GPU.
    """
    reply = asyncio.run(_trace(peer))
    emit(reply, output, lambda: trace_view(reply, gpus=gpus))
    return ExitCode.FINE


async def _inject(peer: Peer, request: pb.InjectRequest) -> pb.EmulatedFault:
    async with to_emulator(peer) as connection:
        return await connection.call(connection.stub.Inject, request)


async def _repair(peer: Peer, request: pb.RepairRequest) -> pb.RepairReply:
    async with to_emulator(peer) as connection:
        return await connection.call(connection.stub.Repair, request)


async def _list_faults(peer: Peer) -> pb.ListFaultsReply:
    async with to_emulator(peer) as connection:
        return await connection.call(connection.stub.ListFaults, pb.ListFaultsRequest())


async def _trace(peer: Peer) -> pb.TraceReply:
    async with to_emulator(peer) as connection:
        return await connection.call(connection.stub.Trace, pb.TraceRequest())


def _fault_table(rows: list[pb.EmulatedFault]) -> Table:
    return listing(
        ("FAULT", "KIND", "NODE", "COMPONENT"),
        [(fault.id, kind_name(fault.kind), fault.node, fault.component) for fault in rows],
        free=("FAULT", "COMPONENT"),
    )
