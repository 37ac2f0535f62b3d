"""`ringlight agent`: run an agent in the foreground."""

from pathlib import Path

import click

from ringlight.cli.daemons import announce, daemon_options, run_daemon
from ringlight.cli.options import dialled_controller


@click.command()
@click.option("--id", "agent_id", required=True, metavar="ID", help="Name of the agent, unique in its fabric.")
@click.option(
    "--node", "nodes", multiple=True, required=True, metavar="N", help="A node it serves; give it for each node."
)
@dialled_controller("Address of the controller.")
@click.option(
    "--emulator",
    "socket",
    type=click.Path(path_type=Path),
    required=True,
    metavar="SOCKET",
    help="Socket of the emulated hardware, see 'ringlight emulator run --socket'.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    required=True,
    help="Directory in which the agent keeps the highest epoch it has seen; made when it does not exist.",
)
@daemon_options
def agent(
    *,
    agent_id: str,
    nodes: tuple[str, ...],
    address: str,
    socket: Path,
    state: Path,
    log_level: str,
    until_stdin_closes: bool,
) -> None:
    """Run an agent in the foreground.

    Prints one line on standard output when it is ready, and logs to standard error. SIGTERM and Ctrl-C stop it in
    order, with exit code 0; the hardware stays as it is.
    """
    from ringlight.agents.daemon import run_agent  # noqa: PLC0415  # heavy, and not for --help
    from ringlight.agents.drivers.emulator import emulator_hardware  # noqa: PLC0415

    daemon = run_agent(
        agent_id=agent_id,
        nodes=nodes,
        controller=address,
        hardware=emulator_hardware(socket),
        state_dir=state,
        ready=announce,
    )
    run_daemon(daemon, log_level=log_level, until_stdin_closes=until_stdin_closes)
