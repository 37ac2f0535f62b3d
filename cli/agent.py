"""`ringlight agent`: run an agent in the foreground."""

from pathlib import Path
from random import SystemRandom

import click
from click.core import ParameterSource

from ringlight.cli.daemons import announce, daemon_options, run_daemon
from ringlight.cli.options import dialled_controller

_ALONE = {"agent_id": "--id", "nodes": "--node", "address": "--controller", "socket": "--emulator", "state": "--state"}


@click.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Everything about the agent (YAML, see docs/agent.md), in place of the options for emulated nodes.",
)
@click.option("--id", "agent_id", metavar="ID", help="Name of the agent, unique in its fabric.")
@click.option("--node", "nodes", multiple=True, metavar="N", help="A node it serves; give it for each node.")
@dialled_controller("Address of the controller.")
@click.option(
    "--emulator",
    "socket",
    type=click.Path(path_type=Path),
    metavar="SOCKET",
    help="Socket of the emulated hardware, see 'ringlight emulator run --socket'.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    help="Directory in which the agent keeps the highest epoch it has seen; made when it does not exist.",
)
@daemon_options
@click.pass_context
def agent(
    context: click.Context,
    *,
    config: Path | None,
    agent_id: str | None,
    nodes: tuple[str, ...],
    address: str,
    socket: Path | None,
    state: Path | None,
    log_level: str,
    until_stdin_closes: bool,
) -> None:
    """Run an agent in the foreground.

    What it serves is in a file, `--config`; for emulated nodes, `--id`, `--node`, `--emulator` and `--state` say as
    much. Prints one line on standard output when it is ready, and logs to standard error. SIGTERM and Ctrl-C stop it
    in order, with exit code 0; the hardware stays as it is.
    """
    from ringlight.agents.backends import hardware_of  # noqa: PLC0415
    from ringlight.agents.configuration import emulated_agent  # noqa: PLC0415  # heavy, and not for --help
    from ringlight.agents.configuration_file import load_agent_file  # noqa: PLC0415
    from ringlight.agents.daemon import run_agent  # noqa: PLC0415

    given = [
        option for name, option in _ALONE.items() if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if config is not None and given:
        raise click.UsageError(f"{', '.join(given)}: this is in the file that --config names", context)
    if config is not None:
        configuration = load_agent_file(config)
    elif agent_id is None or not nodes or socket is None or state is None:
        raise click.UsageError("give --config FILE, or --id, --node, --emulator and --state", context)
    else:
        configuration = emulated_agent(agent_id=agent_id, nodes=nodes, controller=address, socket=socket, state=state)
    hardware = hardware_of(configuration.file, configuration.wiring, SystemRandom())
    daemon = run_agent(configuration, hardware, ready=announce)
    run_daemon(daemon, log_level=log_level, until_stdin_closes=until_stdin_closes)
