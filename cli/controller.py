"""`ringlight controller`: run the controller in the foreground."""

from pathlib import Path

import click

from ringlight.cli.daemons import announce, daemon_options, run_daemon
from ringlight.cli.options import CONTROLLER_ADDRESS, HOST_PORT, HTTP_ADDRESS


@click.command()
@click.option("--fabric", "fabric_file", type=click.Path(path_type=Path), required=True, help="The fabric file.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings (YAML); without it, the defaults.")
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=Path("ringlight-state"),
    show_default=True,
    help="Directory of the store; made when it does not exist.",
)
@click.option(
    "--listen", type=HOST_PORT, default=CONTROLLER_ADDRESS, show_default=True, help="gRPC, for agents and clients."
)
@click.option(
    "--http",
    type=HOST_PORT,
    default=HTTP_ADDRESS,
    show_default=True,
    help="The live page, /metrics, /livez and /readyz.",
)
@click.option("--mqtt", metavar="URL", help="Broker for events, jobs and heartbeats: mqtt://HOST, mqtts://USER@HOST.")
@click.option("--mqtt-password", type=click.Path(path_type=Path), help="File with the password in its first line.")
@click.option("--mqtt-ca", type=click.Path(path_type=Path), help="Certificates that the broker's is checked by (PEM).")
@daemon_options
def controller(
    *,
    fabric_file: Path,
    config: Path | None,
    state: Path,
    listen: str,
    http: str,
    mqtt: str | None,
    mqtt_password: Path | None,
    mqtt_ca: Path | None,
    log_level: str,
    until_stdin_closes: bool,
) -> None:
    """Run the controller in the foreground.

    Prints one line on standard output when it is ready, and logs to standard error. SIGTERM and Ctrl-C stop it in
    order, with exit code 0; no circuit changes by that.
    """
    from ringlight.controller.configuration_file import load_settings  # noqa: PLC0415
    from ringlight.controller.daemon import run_controller  # noqa: PLC0415  # heavy, and not for --help
    from ringlight.fabric.file import load_fabric  # noqa: PLC0415
    from ringlight.protos.bus.broker import broker_at  # noqa: PLC0415

    if mqtt is None and (mqtt_password or mqtt_ca):
        raise click.UsageError("--mqtt-password and --mqtt-ca go with --mqtt")

    daemon = run_controller(
        fabric=load_fabric(fabric_file),
        settings=load_settings(config),
        state_dir=state,
        listen=listen,
        http=http,
        broker=None if mqtt is None else broker_at(mqtt, password_file=mqtt_password, ca_file=mqtt_ca),
        ready=announce,
    )
    run_daemon(daemon, log_level=log_level, until_stdin_closes=until_stdin_closes)
