"""`ringlight module`: look at one transceiver's registers, at the bench.

It reads, and selects pages, without which there is nothing to be read; it writes nothing else. What clears when it is
read belongs to the agent that drives the module, so it is left out unless it is asked for.
"""

import asyncio
import functools
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Group
from rich.table import Table

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import ModuleMemory, answered
from ringlight.agents.drivers.cmis.backend import memory_of
from ringlight.agents.drivers.cmis.file import ModuleAddress
from ringlight.agents.drivers.cmis.identity import KNOWN_PARTS, identify
from ringlight.agents.drivers.cmis.page_view import LOWER, SHOWN, decoded, hex_lines, lanes, pieces, title
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit_data, facts, listing, output_option
from ringlight.fabric.errors import UnavailableError

_PATIENCE = 3.0  # seconds: a module that was just plugged in needs so long
_PAGE = re.compile(r"(?:0x)?([0-9a-f]{1,2})h?", re.IGNORECASE)
_HIGHEST_BYTE = 255

Result = TypeVar("Result")
Pages = dict[int, dict[int, int]]


class _Page(click.ParamType[int]):
    """A page such as ``11h``, ``0xb0`` or ``lower``."""

    name = "PAGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Its number; lower memory has one of its own."""
        if str(value).lower() == "lower":
            return LOWER
        match = _PAGE.fullmatch(str(value))
        if match is None:
            self.fail(f"{str(value)!r} is not a page such as 11h, 0xb0 or lower", param, ctx)
        return int(match[1], 16)


def _address_options(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command the ways to say which module is meant; it receives a `ModuleAddress` as `address`."""

    @functools.wraps(command)
    def with_address(*args: Any, **options: Any) -> Result:
        given = {key: options.pop(key) for key in ("eeprom", "i2c", "socket", "bus", "select")}
        ways = [key for key in ("eeprom", "i2c", "socket") if given[key] is not None]
        if len(ways) != 1 or (ways == ["socket"]) != (given["bus"] is not None and given["select"] is not None):
            raise click.UsageError("say which module: --eeprom FILE, --i2c ADAPTER, or --socket, --bus and --select")
        address = ModuleAddress(**{key: value for key, value in given.items() if value is not None})
        return command(*args, address=address, **options)

    for option in (
        click.option("--select", type=click.IntRange(0, _HIGHEST_BYTE), help="Select line on that bus."),
        click.option("--bus", metavar="NODE", help="Node on whose bus the module is."),
        click.option("--socket", type=click.Path(path_type=Path), help="The emulator's socket of module buses."),
        click.option("--i2c", type=click.Path(path_type=Path), metavar="ADAPTER", help="Such as /dev/i2c-21."),
        click.option("--eeprom", type=click.Path(path_type=Path), metavar="FILE", help="File of the optoe driver."),
    ):
        with_address = option(with_address)
    return with_address


_flags_option = click.option(
    "--flags", is_flag=True, help="Read flags, too. That clears them: whoever drives the module misses them."
)


@click.group()
def module() -> None:
    """Look at a transceiver's registers, at the bench. Nothing is written but the page select."""


@module.command()
@_address_options
@output_option
@_flags_option
@click.option("--all", "everything", is_flag=True, help="Every field of every page, not just what matters most.")
def show(address: ModuleAddress, output: OutputForm, *, flags: bool, everything: bool) -> ExitCode:
    """Who the module is, how it is, what its switch selects, and the light of its lanes.

    A module that the driver would refuse is shown as far as it can be read, with the reason; the exit code is 2 then.
    """
    pages, missing = asyncio.run(_read_all(address, flags=flags))
    trouble = _trouble(pages)
    plain = {
        "driven": not trouble,
        "trouble": trouble,
        "pages": {title(page): {one.name: one.text for one in decoded(page, known)} for page, known in pages.items()},
        "lanes": lanes(pages.get(reg.LANE_STATUS, {}), pages.get(reg.OCSTRX, {})),
        "missing": [title(page) for page in missing],
    }
    emit_data(plain, output, lambda: _overview(plain, pages, everything=everything))
    return ExitCode.DEGRADED if trouble else ExitCode.FINE


@module.command()
@_address_options
@click.argument("page", type=_Page())
@click.argument("first", metavar="[BYTE]", type=click.IntRange(0, _HIGHEST_BYTE), required=False)
@click.argument("length", metavar="[LENGTH]", type=click.IntRange(1, 128), required=False)
@_flags_option
@click.option("--decode", "decode", is_flag=True, help="Name the fields below the bytes.")
def read(
    address: ModuleAddress, *, page: int, first: int | None, length: int | None, flags: bool, decode: bool
) -> ExitCode:
    """Show PAGE in hexadecimal, such as 11h, b0h or lower; from BYTE on, LENGTH bytes."""
    begin, end = (0, 128) if page == LOWER else (128, 256)
    first = begin if first is None else first
    wanted = range(first, min(end, first + length) if length is not None else end)
    if first not in range(begin, end):
        raise click.UsageError(f"{title(page)} has bytes {begin} to {end - 1}")
    known = asyncio.run(_read_one(address, page, flags=flags))
    for line in hex_lines(known, wanted):
        click.echo(line)
    if decode:
        for one in decoded(page, {byte: value for byte, value in known.items() if byte in wanted}):
            click.echo(f"{one.byte:3d}  {one.name}: {one.text}")
    return ExitCode.FINE


@module.command()
@_address_options
@click.option("--every", type=click.FloatRange(0.05), default=0.5, show_default=True, help="Seconds between looks.")
@click.option("--for", "seconds", type=click.FloatRange(0, min_open=True), help="End after so many seconds.")
def watch(address: ModuleAddress, *, every: float, seconds: float | None) -> ExitCode:
    """Print a line whenever something changes: state, switch, lanes that receive, temperature by a degree."""
    asyncio.run(_watch(address, every, seconds))
    return ExitCode.FINE


@asynccontextmanager
async def _opened(address: ModuleAddress) -> AsyncIterator[ModuleMemory]:
    memory = memory_of(address, {})
    await memory.open()
    try:
        yield memory
    finally:
        await memory.close()


async def _page(memory: ModuleMemory, page: int, *, flags: bool) -> dict[int, int]:
    known: dict[int, int] = {}
    for piece in pieces(page, flags=flags):
        known.update(zip(piece, await _bytes(memory, max(page, 0), piece), strict=True))
    return known


async def _bytes(memory: ModuleMemory, page: int, piece: range) -> bytes:
    return await answered(lambda: memory.read(page, piece.start, len(piece)), _PATIENCE)


async def _read_one(address: ModuleAddress, page: int, *, flags: bool) -> dict[int, int]:
    async with _opened(address) as memory:
        try:
            return await _page(memory, page, flags=flags)
        except NotAcknowledgedError:
            raise _silent() from None
        except ModuleTroubleError as error:
            raise UnavailableError(f"the module has no such page: {error}", hint="`ringlight module show`") from None


async def _read_all(address: ModuleAddress, *, flags: bool) -> tuple[Pages, list[int]]:
    """Every page that there is, and which of those that we know there are not."""
    pages: Pages = {}
    missing = []
    async with _opened(address) as memory:
        for page in SHOWN:
            try:
                known = await _page(memory, page, flags=flags)
                if known == pages.get(reg.ADMINISTRATIVE):  # what a file shows for a page that there is not
                    missing.append(page)
                else:
                    pages[page] = known
            except ModuleTroubleError:
                missing.append(page)
            except NotAcknowledgedError:
                raise _silent() from None
    return pages, missing


async def _watch(address: ModuleAddress, every: float, seconds: float | None) -> None:
    loop = asyncio.get_running_loop()
    begun, before = loop.time(), dict[str, str]()
    async with _opened(address) as memory:
        while seconds is None or loop.time() - begun < seconds:
            now = await _glance(memory)
            changed = {name: value for name, value in now.items() if before.get(name) != value}
            if changed:
                told = ", ".join(f"{name} {value}" for name, value in changed.items())
                click.echo(f"{loop.time() - begun:8.3f} s  {told}")
            before = now
            await asyncio.sleep(every)


async def _glance(memory: ModuleMemory) -> dict[str, str]:
    """What is worth a line when it changes."""
    try:
        lower = await _page(memory, LOWER, flags=False)
        status = await _page(memory, reg.LANE_STATUS, flags=False)
    except (NotAcknowledgedError, ModuleTroubleError):
        return {"module": "does not answer"}
    told = {one.name: one.text for one in (*decoded(LOWER, lower), *decoded(reg.LANE_STATUS, status))}
    shown = {name: told[name] for name in (reg.MODULE_STATE.name, reg.DATA_PATH_STATE.name, reg.RX_VALID.name)}
    shown["temperature"] = f"{float(told['temperature'].split()[0]):.0f} °C"
    try:
        switch = {one.name: one.text for one in decoded(reg.OCSTRX, await _page(memory, reg.OCSTRX, flags=False))}
    except (NotAcknowledgedError, ModuleTroubleError):
        return shown
    return shown | {name: switch[name] for name in (reg.OCS_COMMITTED.name, reg.OCS_RESULT.name, reg.OCS_COMMITS.name)}


def _silent() -> UnavailableError:
    return UnavailableError("the module does not answer", hint="is it plugged in, and has its node power?")


def _trouble(pages: Pages) -> str:
    """Why the driver would not touch this module; empty when it would."""
    parts = [_whole(pages, page) for page in (LOWER, reg.ADMINISTRATIVE, reg.ADVERTISING, reg.THRESHOLDS)]
    lower, administrative, advertising, thresholds = parts
    try:
        identify(lower, administrative, advertising, thresholds, KNOWN_PARTS)
    except ModuleTroubleError as error:
        return str(error)
    return ""


def _whole(pages: Pages, page: int) -> bytes:
    first = 0 if page == LOWER else 128
    known = pages.get(page, {})
    return bytes(known.get(byte, 0) for byte in range(first, first + 128))


def _overview(plain: dict[str, Any], pages: Pages, *, everything: bool) -> Group:
    shown = plain["pages"]
    if everything:
        parts: list[Any] = []
        for page in pages:
            parts += [title(page), facts(list(shown[title(page)].items())), ""]
        return Group(*parts, _lane_table(plain["lanes"]))
    lower, who = shown[title(LOWER)], shown.get(title(reg.ADMINISTRATIVE), {})
    switch = shown.get(title(reg.OCSTRX), {})
    names = [("driven", "yes" if plain["driven"] else f"no: {plain['trouble']}")]
    names += [(name, who.get(name, "-")) for name in ("vendor", "part number", "serial number")]
    names += [(name, lower.get(name, "-")) for name in ("CMIS revision", "module state", "temperature", "supply")]
    told = ("committed path", "commit result", "commits", "insertion loss")
    names += [(name, switch[name]) for name in told if name in switch]
    return Group(facts(names), "", _lane_table(plain["lanes"]))


def _lane_table(rows: list[dict[str, str]]) -> Table:
    columns = list(rows[0])
    heads = [column.replace("_", " ").upper() for column in columns]
    return listing(heads, [tuple(row.get(column, "-") for column in columns) for row in rows])
