"""Requests that disturb rings: what they change, as a table, and the question before it is done."""

import sys
from collections.abc import Iterable, Sequence

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ringlight.cli.output import listing
from ringlight.fabric.errors import InvalidError
from ringlight.protos.v1 import fabric_pb2 as pb


def confirmed(question: str, *, doing: str, otherwise: str, yes: bool) -> bool:
    """Whether to go ahead: `--yes` was given, or a person at a terminal says so.

    Args:
        question: put to a person at a terminal.
        doing: what needs the confirmation, for whoever cannot be asked.
        otherwise: told to a person who declines.
        yes: the confirmation was given beforehand.

    Raises:
        InvalidError: nobody can be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidError(f"{doing} needs a confirmation", hint="add --yes")
    if click.confirm(question, err=True):
        return True
    click.echo(otherwise, err=True)
    return False


def disturbed(rings: Iterable[pb.RingChange]) -> list[str]:
    """Names of the rings that have nodes now, and would be interrupted."""
    return [change.ring for change in rings if change.former]


def outlook(rings: Sequence[pb.RingChange], reasons: Iterable[str]) -> list[RenderableType]:
    """What becomes of the rings, and why; said in words when no ring changes."""
    lines = [Text(reason) for reason in reasons]
    if not rings:
        return [Text("no ring changes"), *lines]
    return [_table(rings), *lines]


def titled(title: RenderableType, rings: Sequence[pb.RingChange], reasons: Iterable[str]) -> Group:
    """The outlook below something else."""
    return Group(title, "", *outlook(rings, reasons))


def _table(rings: Iterable[pb.RingChange]) -> Table:
    return listing(
        ("RING", "FORMER", "NEW"),
        [(change.ring, " ".join(change.former) or "-", " ".join(change.chain) or "-") for change in rings],
        free=("RING", "FORMER", "NEW"),
    )
