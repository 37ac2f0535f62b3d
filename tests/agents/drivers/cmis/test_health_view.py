import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.health_view import Glimpse, glimpse, judged, lanes, monitors, news, why_not_driven
from ringlight.agents.drivers.cmis.identity import KNOWN_PARTS
from ringlight.agents.drivers.cmis.page_view import LOWER, SHOWN

LIMITS = (75.0, 0.0, 70.0, 5.0)
Pages = dict[int, dict[int, int]]


def _page(*parts: tuple[int, str]) -> dict[int, int]:
    return {at + number: byte for at, content in parts for number, byte in enumerate(bytes.fromhex(content))}


def _healthy() -> Pages:
    """Ready, 45 degrees, all lanes up at 1 mW and 50 mA; limits as those of the temperature above."""
    limits = "4e20 0064 2710 00c8"  # of powers: 3, -20, 0, -16.99 dBm
    return {
        LOWER: _page((3, "06"), (14, "2d00"), (16, "8000")),
        reg.THRESHOLDS: _page(
            (128, "4b00 0000 4600 0500"), (136, "0000" * 4), (176, limits), (184, "d6d8 2710 c350 3a98"), (192, limits)
        ),
        reg.LANE_STATUS: _page((128, "44444444"), (132, "ff"), (133, "ff"), (154, "2710" * 8), (170, "61a8" * 8))
        | _page((186, "2710" * 8)),
        reg.OCSTRX: _page((168, "01" * 8), (184, "02" * 8), (200, "00000007"), (208, "7fff 0106 0136 0153")),
    }


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (75.0, "high warning"),
        (75.1, "high alarm"),
        (70.0, "fine"),
        (5.0, "fine"),
        (4.9, "low warning"),
        (0.0, "low warning"),
        (-0.1, "low alarm"),
        (-math.inf, "low alarm"),
    ],
)
def test_limits_are_crossed_by_what_is_beyond_them(value: float, verdict: str) -> None:
    assert judged(value, LIMITS) == verdict
    assert judged(value, ()) == ""


def test_monitors_are_judged_by_the_modules_own_limits() -> None:
    shown = {each.name: each for each in monitors(_healthy())}

    assert (shown["temperature"].values, shown["temperature"].limits) == ((45.0,), LIMITS)
    assert [shown[name].verdict for name in ("temperature", "Tx power", "Tx bias", "Rx power")] == ["fine"] * 4
    assert (shown["supply"].limits, shown["supply"].verdict) == ((), "")  # all zeros: it has none


def test_the_worst_lane_is_the_verdict_of_all() -> None:
    pages = _healthy()
    pages[reg.LANE_STATUS] |= _page((186, "00b4"), (188, "0000"))  # a warning, and no light

    received = next(each for each in monitors(pages) if each.name == "Rx power")
    assert received.verdict == "low alarm"
    assert [row.alarms for row in lanes(pages)[:3]] == [("Rx power low warning",), ("Rx power low alarm",), ()]


def test_a_laser_that_is_off_raises_no_alarm() -> None:
    pages = _healthy()
    pages[reg.LANE_STATUS] |= _page((133, "fe"), (154, "0000"), (170, "0000"))

    assert lanes(pages)[0].alarms == ()
    assert {each.verdict for each in monitors(pages) if each.name.startswith("Tx")} == {"fine"}


def test_a_module_that_is_not_up_misses_no_light() -> None:
    pages = _healthy()
    pages[LOWER][3] = 0x02  # low power
    pages[reg.LANE_STATUS] |= _page((186, "0000" * 8))

    assert all(row.alarms == () for row in lanes(pages))


def test_flags_are_alarms_where_they_were_read() -> None:
    pages = _healthy()
    pages[reg.LANE_STATUS] |= _page((135, "01"), (136, "00"), (147, "03"))

    assert [row.alarms for row in lanes(pages)[:3]] == [("Tx fault", "Rx signal lost"), ("Rx signal lost",), ()]


def test_lanes_are_told_with_the_loss_of_their_path() -> None:
    row = lanes(_healthy())[4]

    assert (row.number, row.state, row.path, row.result) == (5, "ACTIVATED", "path 2", "success")
    assert (row.tx_power, row.receives) == (0.0, True)
    assert row.loss == pytest.approx(3.10)


def test_a_dark_lane_has_no_loss() -> None:
    pages = _healthy()
    pages[reg.OCSTRX] |= _page((184, "00"))

    assert (lanes(pages)[0].path, lanes(pages)[0].loss) == ("dark", None)


@pytest.mark.parametrize(
    ("order", "path"),
    [
        ("0102030405060708", "path 1"),
        ("0506070801020304", "path 2"),
        ("0807060504030201", "loopback"),
        ("00" * 8, "dark"),
    ],
)
def test_without_a_page_of_its_own_the_order_of_lanes_stands_for_the_path(order: str, path: str) -> None:
    pages = _healthy()
    del pages[reg.OCSTRX]
    pages[reg.LANE_SWITCHING] = _page((184, order))

    assert {row.path for row in lanes(pages)} == {path}


@given(st.dictionaries(st.sampled_from(SHOWN), st.dictionaries(st.integers(0, 255), st.integers(0, 255))))
def test_anything_can_be_missing(pages: Pages) -> None:
    rows = lanes(pages)
    assert [row.number for row in rows] == list(range(1, 9))
    assert all(monitor.values for monitor in monitors(pages))
    glimpse(pages, {})


def test_without_pages_nothing_is_claimed() -> None:
    row = lanes({})[0]

    assert (row.state, row.tx_power, row.receives, row.path, row.loss, row.alarms) == (None,) * 5 + ((),)
    assert not list(monitors({}))


def test_what_could_not_be_read_is_why_it_is_not_driven() -> None:
    lower = {LOWER: _page((0, "185404"))}

    said = why_not_driven(lower, {reg.ADMINISTRATIVE: "it does not acknowledge this"}, KNOWN_PARTS)
    assert said == "page 00h, identity: it does not acknowledge this"
    assert "identifier is 33h" in why_not_driven({LOWER: _page((0, "335404"))}, {}, KNOWN_PARTS)


# -- what changed ------------------------------------------------------------------------------------------------------


def test_the_first_glimpse_is_all_news() -> None:
    changed, _ = news(None, glimpse(_healthy(), {}))

    assert changed == {
        "state": "READY",
        "lanes": "ACTIVATED",
        "path": "path 2",
        "result": "success",
        "receiving": "all lanes",
        "commits": "7",
        "temperature": "45.0 °C",
    }


def test_later_only_what_changed_is_news() -> None:
    pages = _healthy()
    _, before = news(None, glimpse(pages, {}))
    pages[reg.LANE_STATUS] |= _page((132, "17"))
    pages[reg.OCSTRX] |= _page((184, "01"))

    changed, before = news(before, glimpse(pages, {}))
    assert changed == {"receiving": "lanes 1-3 5", "path": "path 1 on 1, path 2 on 2-8"}
    assert news(before, glimpse(pages, {}))[0] == {}


def test_flags_are_news_where_they_were_read() -> None:
    pages = _healthy()
    _, before = news(None, glimpse(pages, {}))
    pages[LOWER] |= _page((9, "01"))
    pages[reg.OCSTRX] |= _page((204, "00"))
    pages[reg.LANE_STATUS] |= _page((147, "f0"))

    assert news(before, glimpse(pages, {}))[0] == {
        "temperature and supply flags": "temperature high alarm",
        "switch flags": "none",
        "Rx signal lost": "lanes 5-8",
    }


def test_a_page_that_can_no_longer_be_read_is_news() -> None:
    pages = _healthy()
    _, before = news(None, glimpse(pages, {}))
    del pages[LOWER]

    changed, before = news(before, glimpse(pages, {LOWER: "it does not answer"}))
    assert changed == {"module": "not readable: it does not answer"}
    changed, _ = news(before, glimpse(_healthy(), {}))
    assert changed == {"state": "READY", "temperature": "45.0 °C"}


def test_temperature_is_news_by_the_degree_and_does_not_flicker() -> None:
    told = []
    before: Glimpse | None = None
    for temperature in (45.4, 45.6, 45.4, 46.3, 46.4, 46.3, 45.5, 45.3):
        changed, before = news(before, Glimpse({}, temperature))
        told += list(changed.values())

    assert told == ["45.4 °C", "46.4 °C", "45.3 °C"]
