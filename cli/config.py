"""`ringlight config`: check the controller's configuration, and show every setting with the reason for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit_data, listing, output_option
from ringlight.controller.configuration import Setting, as_document, settings_of
from ringlight.controller.configuration_file import load_settings


@click.group()
def config() -> None:
    """Check and show the controller's configuration."""


@config.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(*, file: Path) -> ExitCode:
    """Say whether FILE can be used, and what it changes.

    Lists every mistake on a line of its own: its key, what is wrong there, and what would be right. For a CI job,
    before `ringlight controller --config FILE` meets it.
    """
    changed = [setting.key for setting in settings_of(load_settings(file)) if setting.value != setting.default]
    click.echo(f"{file}: fine; other than the defaults: {', '.join(changed) or 'nothing'}")
    return ExitCode.FINE


@config.command()
@click.option("--config", "file", type=click.Path(path_type=Path), help="A configuration file.")
@output_option
def show(*, file: Path | None, output: OutputForm) -> ExitCode:
    """Show every setting with its value, unit, default and reason.

    A star marks a value that is not the default. As YAML it is a configuration file with every key; as JSON each
    setting also has what is allowed.
    """
    settings = load_settings(file)
    every = settings_of(settings)
    if output is OutputForm.JSON:
        emit_data({"settings": [_record(setting) for setting in every]}, output, lambda: _table(every))
    else:
        emit_data(as_document(settings), output, lambda: _table(every))
    return ExitCode.FINE


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
