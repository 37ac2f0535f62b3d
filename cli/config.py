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
from ringlight.fabric.errors import InvalidError


@click.group()
def config() -> None:
    """Check and show the controller's configuration."""


@config.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(*, file: Path) -> ExitCode:
    """Check a configuration file: every mistake on a line of its own, with what would be right."""
    try:
        settings = load_settings(file)
    except InvalidError as error:
        click.echo(str(error), err=True)
        return ExitCode.ERROR
    changed = [setting.key for setting in settings_of(settings) if setting.value != setting.default]
    click.echo(f"{file}: fine; other than the defaults: {', '.join(changed) or 'nothing'}")
    return ExitCode.FINE


@config.command()
@click.option("--config", "file", type=click.Path(path_type=Path), help="A configuration file.")
@output_option
def show(*, file: Path | None, output: OutputForm) -> ExitCode:
    """Show every setting: its value (marked where it is not the default), unit, default and reason.

    As YAML it is a configuration file with every key.
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
        free=("REASON",),
    )


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | dict) and not value:
        return "none"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
