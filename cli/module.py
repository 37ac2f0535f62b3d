"""`ringlight module`: look at one transceiver's registers, at the bench.

It reads, and selects pages, without which there is nothing to be read; it writes nothing else. What clears when it is
read belongs to the agent that drives the module, so it is left out unless it is asked for.
"""

import asyncio
import functools
import math
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Group, RenderableType
from rich.table import Table

from ringlight.agents.drivers.cmis import bench
from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import ModuleMemory
from ringlight.agents.drivers.cmis.backend import memory_of
from ringlight.agents.drivers.cmis.file import ModuleAddress
from ringlight.agents.drivers.cmis.health_view import (
    Glimpse,
    Lane,
    Monitor,
    finite,
    glimpse,
    lanes,
    monitors,
    news,
    why_not_driven,
)
from ringlight.agents.drivers.cmis.identity import KNOWN_PARTS
from ringlight.agents.drivers.cmis.page_view import LOWER, NOT_READ, decoded, hex_lines, title, told
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit_data, facts, listing, output_option, text_of_data
from ringlight.fabric.errors import UnavailableError

_PAGE = re.compile(r"(?:0x)?([0-9a-f]{1,2})h?", re.IGNORECASE)
_HIGHEST_BYTE = 255
_SHOW = "`ringlight module show` says what there is"

Result = TypeVar("Result")


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
    """Look at a transceiver's registers, at the bench. Nothing is written but the page select.

    A module has one page select for all who use it. So a module that an agent drives is refused as in use, but over
    --eeprom, where the kernel keeps them apart: stop the agent first.
    """


@module.command()
@_address_options
@output_option
@_flags_option
@click.option("--all", "everything", is_flag=True, help="Every field of every page, not just what matters most.")
def show(address: ModuleAddress, output: OutputForm, *, flags: bool, everything: bool) -> ExitCode:
    """Who the module is, how it is, what its switch selects, and the light of its lanes.

    A module that the driver would refuse is shown as far as it can be read, with the reason; the exit code is 2 then.
    """
    pages, unread = asyncio.run(_read_everything(address, flags=flags))
    if LOWER not in pages:
        raise UnavailableError("the module answers, but not for long enough to be read", hint="try again")
    trouble = why_not_driven(pages, unread, KNOWN_PARTS)
    fields = {title(page): {one.name: one.text for one in decoded(page, known)} for page, known in pages.items()}
    measured, rows = list(monitors(pages)), lanes(pages)
    plain = {
        "driven": not trouble,
        "trouble": trouble,
        "monitors": [_plain_monitor(each) for each in measured],
        "lanes": [_plain_lane(row) for row in rows],
        "pages": fields,
        "unread": {title(page): why for page, why in unread.items()},
    }

    def table() -> RenderableType:
        parts: list[RenderableType] = [facts(_who(plain)), _monitor_table(measured), _lane_table(rows)]
        if everything:
            parts += [Group(name, facts(of_page.items())) for name, of_page in fields.items() if of_page]
        if unread:
            reasons = [(title(page), why) for page, why in unread.items()]
            parts.append(listing(("NOT READABLE", "WHY"), reasons, free=("WHY",)))
        if not flags:
            parts.append(f"flags: {NOT_READ}, since reading clears them (--flags)")
        return Group(*[line for part in parts for line in ("", part)][1:])

    emit_data(plain, output, table)
    return ExitCode.DEGRADED if trouble else ExitCode.FINE


@module.command()
@_address_options
@output_option
@click.argument("page", type=_Page())
@click.argument("first", metavar="[BYTE]", type=click.IntRange(0, _HIGHEST_BYTE), required=False)
@click.argument("length", metavar="[LENGTH]", type=click.IntRange(1, 128), required=False)
@_flags_option
@click.option("--decode", "decode", is_flag=True, help="Name the fields below the bytes.")
def read(
    address: ModuleAddress,
    output: OutputForm,
    *,
    page: int,
    first: int | None,
    length: int | None,
    flags: bool,
    decode: bool,
) -> ExitCode:
    """Show PAGE in hexadecimal, such as 11h, b0h or lower; from BYTE on, LENGTH bytes.

    JSON and YAML have a number for each byte, null for what was not read, and always the fields.
    """
    begin, end = (0, 128) if page == LOWER else (128, 256)
    first = begin if first is None else first
    if first not in range(begin, end):
        raise click.UsageError(f"{title(page)} has bytes {begin} to {end - 1}")
    wanted = range(first, min(end, first + length) if length is not None else end)
    known, is_page_00h = asyncio.run(_read_part(address, page, wanted, flags=flags))
    fields = [one for one in decoded(page, known) if one.byte in wanted]
    plain = {
        "page": title(page),
        "first": first,
        "bytes": [known.get(byte) for byte in wanted],
        "fields": {one.name: one.text for one in fields},
    }
    if output is OutputForm.TABLE:
        named = [f"{one.byte:3d}  {one.name}: {one.text}" for one in fields] if decode else []
        click.echo("\n".join([*hex_lines(known, wanted), *named]))
    else:
        click.echo(text_of_data(plain, output))
    if is_page_00h:
        click.echo("note: page 00h shows the same; the module may have no such page", err=True)
    return ExitCode.FINE


@module.command()
@_address_options
@output_option
@_flags_option
@click.option("--every", type=click.FloatRange(0.05), default=0.5, show_default=True, help="Seconds between looks.")
@click.option("--for", "seconds", type=click.FloatRange(0, min_open=True), help="End after so many seconds.")
def watch(address: ModuleAddress, output: OutputForm, *, flags: bool, every: float, seconds: float | None) -> ExitCode:
    """Print a line whenever something changes: state, switch, lanes that receive, temperature by a degree.

    Ends on Ctrl-C. JSON is one change a line. Over a socket an interrupt is acted on at once; but a module interrupts
    only after its flags were read, by --flags or by the agent that drives it.
    """
    asyncio.run(_watch(address, output, every, seconds, flags=flags))
    return ExitCode.FINE


@asynccontextmanager
async def _opened(address: ModuleAddress) -> AsyncIterator[ModuleMemory]:
    memory = memory_of(address, {})
    await memory.open()
    try:
        yield memory
    finally:
        await memory.close()


async def _read_everything(address: ModuleAddress, *, flags: bool) -> bench.Reading:
    async with _opened(address) as memory:
        await _await_answer(memory)
        return await bench.read_everything(memory, flags=flags)


async def _read_part(address: ModuleAddress, page: int, wanted: range, *, flags: bool) -> tuple[bench.Known, bool]:
    """The bytes, and whether they are those of page 00h though they should not be."""
    async with _opened(address) as memory:
        await _await_answer(memory)
        try:
            known = await bench.read_part(memory, page, wanted, flags=flags)
        except NotAcknowledgedError:
            raise UnavailableError(f"the module does not give {title(page)}", hint=_SHOW) from None
        except ModuleTroubleError as error:
            raise UnavailableError(f"the module has no such page: {error}", hint=_SHOW) from None
        if page in (LOWER, reg.ADMINISTRATIVE):
            return known, False
        return known, await bench.shows_page_00h(memory, known)


async def _await_answer(memory: ModuleMemory) -> None:
    try:
        await bench.await_answer(memory)
    except ModuleTroubleError as error:
        raise UnavailableError(f"no module: {error}", hint="is it plugged in, and has its node power?") from None


async def _watch(
    address: ModuleAddress, output: OutputForm, every: float, seconds: float | None, *, flags: bool
) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    before: Glimpse | None = None
    async with _opened(address) as memory:
        while (left := math.inf if seconds is None else begun + seconds - loop.time()) > 0:
            changed, before = news(before, glimpse(*await bench.read_glimpse(memory, flags=flags)))
            if changed:
                _tell(loop.time() - begun, changed, output)
            await bench.changed_or_after(memory, min(every, left))


def _tell(after: float, changed: dict[str, str], output: OutputForm) -> None:
    if output is OutputForm.TABLE:
        text = f"{after:8.3f} s  " + ", ".join(f"{name} {word}" for name, word in changed.items())
    else:
        text = text_of_data({"seconds": round(after, 3), "changed": changed}, output, one_line=True)
    click.echo(text)  # which flushes, as a stream must


def _who(plain: dict[str, Any]) -> Iterable[tuple[str, str]]:
    yield "driven", "yes" if plain["driven"] else f"no: {plain['trouble']}"
    for page, names in (
        (reg.ADMINISTRATIVE, ("vendor", "part number", "serial number")),
        (LOWER, ("identifier", "CMIS revision", "active firmware", "module state", "fault cause")),
        (reg.OCSTRX, ("owner", "commits", "time without light", "insertion loss", "switch flags")),
    ):
        shown = plain["pages"].get(title(page), {})
        yield from ((name, shown[name]) for name in names if name in shown)


def _monitor_table(measured: list[Monitor]) -> Table:
    return listing(
        ("MONITOR", "VALUE", "LOW ALARM", "LOW WARNING", "HIGH WARNING", "HIGH ALARM", "VERDICT"),
        [
            (
                each.name,
                f"{_range(each.values)} {each.unit}",
                *(told(each.limits[at]) if each.limits else "-" for at in (1, 3, 2, 0)),
                each.verdict or "-",
            )
            for each in measured
        ],
    )


def _lane_table(rows: list[Lane]) -> Table:
    return listing(
        ("LANE", "STATE", "TX DBM", "BIAS MA", "RX DBM", "RECEIVES", "PATH", "LOSS DB", "RESULT", "ALARMS"),
        [
            (
                str(row.number),
                told(row.state),
                _measured(row.tx_power),
                _measured(row.tx_bias),
                _measured(row.rx_power),
                {None: "-", True: "yes", False: "no"}[row.receives],
                told(row.path),
                told(row.loss),
                told(row.result),
                ", ".join(row.alarms),
            )
            for row in rows
        ],
        free=("RESULT", "ALARMS"),
    )


def _range(values: tuple[float, ...]) -> str:
    low, high = _measured(min(values)), _measured(max(values))
    return low if low == high else f"{low} to {high}"


def _measured(value: float | None) -> str:
    return "none" if value == -math.inf else told(value)


def _plain_monitor(monitor: Monitor) -> dict[str, Any]:
    high_alarm, low_alarm, high_warning, low_warning = map(finite, monitor.limits or (None,) * 4)
    return {
        "name": monitor.name,
        "unit": monitor.unit,
        "values": [finite(value) for value in monitor.values],
        "low_alarm": low_alarm,
        "low_warning": low_warning,
        "high_warning": high_warning,
        "high_alarm": high_alarm,
        "verdict": monitor.verdict,
    }


def _plain_lane(row: Lane) -> dict[str, Any]:
    return {
        "lane": row.number,
        "state": row.state,
        "tx_power_dbm": finite(row.tx_power),
        "tx_bias_ma": finite(row.tx_bias),
        "rx_power_dbm": finite(row.rx_power),
        "receives": row.receives,
        "path": row.path,
        "loss_db": finite(row.loss),
        "result": row.result,
        "alarms": list(row.alarms),
    }
