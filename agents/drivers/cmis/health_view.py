"""How a module is, for a person: why it would not be driven, monitors against their limits, lanes, what changed. Pure.

Pages are what could be read of them, so anything may be missing. What is not known is None, and never judged.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.bring_up import DpState, ModuleState
from ringlight.agents.drivers.cmis.identity import KnownPart, check_kind, identify
from ringlight.agents.drivers.cmis.page_view import (
    LIMITS,
    LOWER,
    PATHS,
    RESULTS,
    Bytes,
    decoded,
    title,
    told,
    values_of,
)
from ringlight.agents.drivers.cmis.registers import LANES, PAGE_SIZE, Field
from ringlight.agents.drivers.cmis.switching import CMIS_6D
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError
from ringlight.fabric.circuits import Path

Pages = Mapping[int, Bytes]
_FINE = "fine"
_CODES = {Path.DARK: 0, Path.PATH_1: 1, Path.PATH_2: 2, Path.LOOPBACK: 3}  # of paths on page B0h
_OF_MODULE = (
    ("temperature", reg.TEMPERATURE, reg.TEMPERATURE_LIMITS),
    ("supply", reg.SUPPLY, reg.SUPPLY_LIMITS),
)
_SENT = (("Tx power", reg.TX_POWER, reg.TX_POWER_LIMITS), ("Tx bias", reg.TX_BIAS, reg.TX_BIAS_LIMITS))
_RECEIVED = (("Rx power", reg.RX_POWER, reg.RX_POWER_LIMITS),)
_LATCHED = (reg.TX_FAULT_FLAGS, reg.TX_LOSS_FLAGS, reg.RX_LOSS_FLAGS)
_DEGREE = 1.0


@dataclass(frozen=True, slots=True)
class Monitor:
    """One thing that a module measures.

    Attributes:
        values: one, or one a lane; -inf dBm without light.
        limits: high alarm, low alarm, high warning, low warning; empty where the module has none.
        verdict: the worst of all values that count, such as ``low alarm``.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    limits: tuple[float, ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One media lane.

    Attributes:
        receives: whether its output to the host is worth anything.
        loss: dB that the switch takes on the path that it is committed to.
        alarms: limits that are crossed now, and flags where they were read.
    """

    number: int
    state: str | None
    tx_power: float | None
    tx_bias: float | None
    rx_power: float | None
    receives: bool | None
    path: str | None
    loss: float | None
    result: str | None
    alarms: tuple[str, ...]


def why_not_driven(pages: Pages, unread: Mapping[int, str], known: tuple[KnownPart, ...]) -> str:
    """Why a driver would not write to this module; empty when it would.

    Args:
        pages: what was read; of lower memory at least three bytes.
        unread: pages that could not be read, and why.
        known: modules that may be written to.
    """
    lower = _whole(pages[LOWER], 0)
    try:
        check_kind(lower)
        for page in (reg.ADMINISTRATIVE, reg.ADVERTISING, reg.THRESHOLDS):
            if page in unread:
                return f"{title(page)}: {unread[page]}"
        administrative = _whole(pages[reg.ADMINISTRATIVE], PAGE_SIZE)
        advertising = _whole(pages[reg.ADVERTISING], PAGE_SIZE)
        identify(lower, administrative, advertising, _whole(pages[reg.THRESHOLDS], PAGE_SIZE), known)
    except ModuleTroubleError as error:
        return str(error)
    return ""


def judged(value: float, limits: tuple[float, ...]) -> str:
    """Which limit is crossed; alarms before warnings."""
    if not limits:
        return ""
    high_alarm, low_alarm, high_warning, low_warning = limits
    crossed = (value > high_alarm, value < low_alarm, value > high_warning, value < low_warning)
    return next((name for name, so in zip(LIMITS, crossed, strict=True) if so), _FINE)


def monitors(pages: Pages) -> Iterator[Monitor]:
    """Everything that is measured, against the module's own limits."""
    for name, field, limits_field in (*_OF_MODULE, *_SENT, *_RECEIVED):
        values = _numbers(field, pages)
        if values is None:
            continue
        limits = _limits(limits_field, pages)
        counting = [value for lane, value in enumerate(values) if len(values) == 1 or _counts(field, lane, pages)]
        verdicts = {judged(value, limits) for value in counting}
        worst = next((each for each in LIMITS if each in verdicts), _FINE if _FINE in verdicts else "")
        yield Monitor(name, field.unit, values, limits, worst)


def lanes(pages: Pages) -> list[Lane]:
    """The lanes, as far as pages 11h, 02h and B0h (or 6Dh) are known."""
    columns = {
        field.name: _numbers(field, pages) or (None,) * LANES
        for field in (reg.DATA_PATH_STATE, reg.TX_POWER, reg.TX_BIAS, reg.RX_POWER, reg.RX_VALID)
    }
    paths, results = _paths(pages), _numbers(reg.OCS_RESULT, pages) or _numbers(reg.LANE_RESULT, pages)
    losses = _numbers(reg.OCS_LOSSES, pages)
    return [
        Lane(
            number=lane + 1,
            state=_named(columns[reg.DATA_PATH_STATE.name][lane], {state.value: state.name for state in DpState}),
            tx_power=columns[reg.TX_POWER.name][lane],
            tx_bias=columns[reg.TX_BIAS.name][lane],
            rx_power=columns[reg.RX_POWER.name][lane],
            receives=_flag(columns[reg.RX_VALID.name][lane]),
            path=paths[lane],
            loss=_loss(paths[lane], losses),
            result=_named(results[lane] if results else None, RESULTS),
            alarms=tuple(_alarms(lane, pages)),
        )
        for lane in range(LANES)
    ]


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is worth a line when it changes: words by name, and the temperature, of which a degree is worth it."""

    words: Mapping[str, str]
    temperature: float | None = None


def glimpse(pages: Pages, unread: Mapping[int, str]) -> Glimpse:
    """What the pages say that people wait for; a page that could not be read is a change, too."""
    words = {"module" if page == LOWER else title(page): f"not readable: {why}" for page, why in unread.items()}
    state = _numbers(reg.MODULE_STATE, pages)
    if state is not None:
        words["state"] = told(state[0], {each.value: each.name for each in ModuleState})
    rows = lanes(pages)
    for name, values in (
        ("lanes", [row.state for row in rows]),
        ("path", [row.path for row in rows]),
        ("result", [row.result for row in rows]),
    ):
        if None not in values:
            words[name] = _summary([value or "" for value in values])
    if all(row.receives is not None for row in rows):
        words["receiving"] = _summary_of_lanes([row.number for row in rows if row.receives])
    commits = _numbers(reg.OCS_COMMITS, pages)
    if commits is not None:
        words["commits"] = told(commits[0])
    words |= _flags(pages)
    temperature = _numbers(reg.TEMPERATURE, pages)
    return Glimpse(words, None if temperature is None else temperature[0])


def news(before: Glimpse | None, now: Glimpse) -> tuple[dict[str, str], Glimpse]:
    """What changed, by name; and what the next glimpse is to be compared with.

    The temperature is news when it is a degree away from what was told last, so that it does not flicker.
    """
    known: Mapping[str, str] = {} if before is None else before.words
    changed = {name: word for name, word in now.words.items() if known.get(name) != word}
    said = None if before is None else before.temperature
    if now.temperature is None:
        return changed, now
    if said is None or abs(now.temperature - said) >= _DEGREE:
        return changed | {"temperature": f"{now.temperature:.1f} °C"}, now
    return changed, Glimpse(now.words, said)


def _flags(pages: Pages) -> dict[str, str]:
    """What was latched since the last reader, where flags were read."""
    of_module = {
        one.name: one.text
        for page in (LOWER, reg.OCSTRX)
        for one in decoded(page, pages.get(page, {}))
        if one.values and one.name in (reg.MONITOR_FLAGS.name, reg.OCS_FLAGS.name)
    }
    of_lanes = {
        flags.name: _summary_of_lanes([lane + 1 for lane, bit in enumerate(bits) if bit])
        for flags in _LATCHED
        if (bits := _numbers(flags, pages)) is not None
    }
    return of_module | of_lanes


def _summary(words: list[str]) -> str:
    """``path 1``, or ``path 1 on 1-4 6, dark on 5 7 8`` where lanes differ."""
    if len(set(words)) == 1:
        return words[0]
    return ", ".join(
        f"{word} on {_ranges([lane + 1 for lane, each in enumerate(words) if each == word])}"
        for word in dict.fromkeys(words)
    )


def _summary_of_lanes(numbers: list[int]) -> str:
    if len(numbers) == LANES:
        return "all lanes"
    return f"lanes {_ranges(numbers)}" if numbers else "no lane"


def _ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return " ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _paths(pages: Pages) -> list[str | None]:
    """By lane; page B0h before page 6Dh, whose lanes stand for paths."""
    committed = _numbers(reg.OCS_COMMITTED, pages)
    if committed is not None:
        return [_named(each, PATHS) for each in committed]
    order = _numbers(reg.LANE_COMMITTED, pages)
    if order is None:
        return [None] * LANES
    names = [
        {0: PATHS[0]} | {codes[lane]: PATHS[_CODES[path]] for path, codes in CMIS_6D.codes.items()}
        for lane in range(LANES)
    ]
    return [_named(each, names[lane]) for lane, each in enumerate(order)]


def _loss(path: str | None, losses: tuple[float, ...] | None) -> float | None:
    if losses is None:
        return None
    code = next((code for code, name in PATHS.items() if name == path), None)
    return None if code is None or losses[code] == reg.OCS_NO_LOSS else losses[code]


def _alarms(lane: int, pages: Pages) -> Iterator[str]:
    for name, field, limits_field in (*_SENT, *_RECEIVED):
        values = _numbers(field, pages)
        if values is not None and _counts(field, lane, pages):
            verdict = judged(values[lane], _limits(limits_field, pages))
            if verdict not in ("", _FINE):
                yield f"{name} {verdict}"
    for flags in _LATCHED:
        bits = _numbers(flags, pages)
        if bits is not None and bits[lane]:
            yield flags.name


def _counts(field: Field, lane: int, pages: Pages) -> bool:
    """Whether a lane's value is to be judged: not that of a laser that is off, or of a module that is not up."""
    if field in (reg.TX_POWER, reg.TX_BIAS):
        sends = _numbers(reg.TX_VALID, pages)
        return sends is not None and bool(sends[lane])
    state = _numbers(reg.MODULE_STATE, pages)
    return state is not None and state[0] == ModuleState.READY


def _limits(field: Field, pages: Pages) -> tuple[float, ...]:
    """None where all are the same: a monitor that has no limits shows zeros."""
    limits = _numbers(field, pages)
    return limits if limits is not None and len(set(limits)) > 1 else ()


def _numbers(field: Field, pages: Pages) -> tuple[float, ...] | None:
    values = values_of(field, pages)
    return None if values is None else tuple(float(value) for value in values)


def _named(value: float | None, names: Mapping[int, str]) -> str | None:
    return None if value is None else told(value, names)


def _flag(value: float | None) -> bool | None:
    return None if value is None else bool(value)


def _whole(known: Bytes, first: int) -> bytes:
    """One half; what was left out is not what anybody is told by."""
    return bytes(known.get(byte, 0) for byte in range(first, first + PAGE_SIZE))


def finite(value: float | None) -> float | None:
    """For programs, whose numbers know no infinity: None for no light, too."""
    return None if value is None or not math.isfinite(value) else round(value, 3)
