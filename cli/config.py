"""`ringlight config`: check configuration files, and show every setting with the reason for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringlight.agents.settings import AgentSettings
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit_data, listing, output_option
from ringlight.controller.configuration import as_document, settings_of
from ringlight.controller.configuration_file import load_settings
from ringlight.fabric.setting import Setting


@click.group()
def config() -> None:
    """Check and show configuration files and settings."""


@config.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--agent", is_flag=True, help="It is an agent's file, and not the controller's.")
def check(*, file: Path, agent: bool) -> ExitCode:
    """Say whether FILE can be used, and what it changes.

    Lists every mistake on a line of its own: its key, what is wrong there, and what would be right. For a CI job,
    before `ringlight controller --config FILE` or `ringlight agent --config FILE` meets it. An agent's file is checked
    together with the fabric file that it names; no hardware is touched.
    """
    serves, every = _of_agent(file) if agent else ("", settings_of(load_settings(file)))
    changed = [setting.key for setting in every if setting.value != setting.default]
    click.echo(f"{file}: fine; {serves}other than the defaults: {', '.join(changed) or 'nothing'}")
    return ExitCode.FINE


@config.command()
@click.option("--config", "file", type=click.Path(path_type=Path), help="A configuration file.")
@click.option("--agent", is_flag=True, help="Show the settings of an agent, and not the controller's.")
@output_option
def show(*, file: Path | None, agent: bool, output: OutputForm) -> ExitCode:
    """Show every setting with its value, unit, default and reason.

    A star marks a value that is not the default. As YAML it is a configuration file with every key, for an agent the
    part of it below `settings`; as JSON each setting also has what is allowed.
    """
    if agent:
        every = _of_agent(file)[1]
        document: dict[str, Any] = {"settings": {each.key.removeprefix("settings."): each.value for each in every}}
    else:
        settings = load_settings(file)
        every, document = settings_of(settings), as_document(settings)
    if output is OutputForm.JSON:
        document = {"settings": [_record(setting) for setting in every]}
    emit_data(document, output, lambda: _table(every))
    return ExitCode.FINE


def _of_agent(file: Path | None) -> tuple[str, Sequence[Setting]]:
    """What an agent serves, in words, and its settings; the defaults without a file."""
    from ringlight.agents import configuration, configuration_file  # noqa: PLC0415  # heavy: drivers

    if file is None:
        return "", configuration.settings_of(AgentSettings())
    read = configuration_file.load_agent_file(file).file
    kinds = {
        "circuits": sorted({node.circuits.kind for node in read.nodes.values()}),
        "GPUs": sorted({node.gpus.kind for node in read.nodes.values()}),
    }
    served = ", ".join(f"{part}: {' and '.join(kind)}" for part, kind in kinds.items())
    nodes = "1 node" if len(read.nodes) == 1 else f"{len(read.nodes)} nodes"
    return f"serves {nodes} ({served}); ", configuration.settings_of(read.settings)


def _record(setting: Setting) -> dict[str, Any]:
    return {
        "key": setting.key,
        "value": setting.value,
        "default": setting.default,
        "unit": setting.unit,
        "allowed": setting.limits,
        "reason": setting.reason,
    }


def _table(settings: Sequence[Setting]) -> Table:
    return listing(
        ("KEY", "VALUE", "UNIT", "DEFAULT", "REASON"),
        [
            (
                setting.key,
                _words(setting.value) + (" *" if setting.value != setting.default else ""),
                setting.unit or "-",
                _words(setting.default),
                setting.reason,
            )
            for setting in settings
        ],
        free=("VALUE", "DEFAULT", "REASON"),
    )


def _words(value: Any) -> str:
    match value:
        case float():
            return f"{value:g}"
        case [] | {}:
            return "none" if not value else ", ".join(f"{key}: {each}" for key, each in value.items())
        case list():
            return " ".join(value)
        case _:
            return str(value)
