"""The three forms of output: tables for people, JSON and YAML for programs.

JSON and YAML are the protocol's messages with the protocol's field names; every field is always there, so a program
can rely on the shape, and 64-bit numbers are numbers. Tables fit 100 columns, and outside a terminal they hold no
colour and no drawing characters.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import click
import yaml
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 100  # columns when standard output is not a terminal

Result = TypeVar("Result")

_STYLES = {
    "HEALTHY": "green",
    "ACTIVE": "green",
    "RUNNING": "green",
    "fine": "green",
    "SUSPECT": "yellow",
    "PROBATION": "yellow",
    "PLANNED": "yellow",
    "SWITCHING": "yellow",
    "VERIFYING": "yellow",
    "PLACING": "yellow",
    "WAITING": "yellow",
    "DEGRADED": "yellow",
    "degraded": "bold red",
    "UNREACHABLE": "magenta",
    "UNKNOWN": "magenta",
    "FAILED": "bold red",
    "BROKEN": "bold red",
    "RELEASED": "dim",
}


class OutputForm(StrEnum):
    """How a reply is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def output_option(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command `-o`; it receives an `OutputForm` as `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([form.value for form in OutputForm]),
        callback=lambda _context, _parameter, value: OutputForm(value),
        default=OutputForm.TABLE.value,
        show_default=True,
        help="Form of the output.",
    )(command)


def console() -> Console:
    """A console on standard output as it is now."""
    if sys.stdout.isatty():
        return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    return Console(
        file=sys.stdout,
        width=WIDTH,
        force_terminal=False,  # whatever the environment says: colours are off when not a terminal
        color_system=None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def document(message: Message) -> dict[str, Any]:
    """A message as plain data: every field, under the protocol's names."""
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
        unquote_int64_if_possible=True,  # as strings, which is protobuf's habit, they compare wrongly in jq
    )


def text_of(message: Message, form: OutputForm, *, one_line: bool = False) -> str:
    """A message as JSON or YAML. `one_line` is for streams: a JSON document a line, a YAML document each `---`."""
    return text_of_data(document(message), form, one_line=one_line)


def text_of_data(plain: dict[str, Any], form: OutputForm, *, one_line: bool = False) -> str:
    """Plain data as JSON or YAML; `one_line` as for `text_of`."""
    if form is OutputForm.JSON:
        return json.dumps(plain, ensure_ascii=False, indent=None if one_line else 2)
    start = "---\n" if one_line else ""
    return start + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=WIDTH).rstrip("\n")


def emit(message: Message, form: OutputForm, table: Callable[[], RenderableType], *, one_line: bool = False) -> None:
    """Print a message; `table` is asked for only when the form is a table."""
    if form is OutputForm.TABLE:
        console().print(table())
    else:
        click.echo(text_of(message, form, one_line=one_line))
    sys.stdout.flush()


def emit_data(plain: dict[str, Any], form: OutputForm, table: Callable[[], RenderableType]) -> None:
    """Print plain data; `table` is asked for only when the form is a table."""
    if form is OutputForm.TABLE:
        console().print(table())
    else:
        click.echo(text_of_data(plain, form))


def word(value: str) -> Text:
    """A verdict or state, in its colour."""
    return Text(value, style=_STYLES.get(value, ""))


def listing(headers: Sequence[str], rows: Iterable[Sequence[str | Text]], *, free: Sequence[str] = ()) -> Table:
    """A table without frame. Columns named in `free` hold prose and are wrapped first; the others stay whole."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        table.add_column(header, overflow="fold", no_wrap=header not in free)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return table


def facts(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Names and values, one pair a line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value if isinstance(value, Text) else Text(value))
    return table
