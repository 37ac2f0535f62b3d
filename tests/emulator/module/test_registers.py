"""What a strict decoder, written here from the public tables alone, makes of a module that is up."""

import math

import pytest

from ringlight.emulator.module.profile import CdbMode, ModuleProfile
from tests.emulator.module.host import LOWER, Host

PAGES = (0x00, 0x01, 0x02, 0x10, 0x11, 0x13, 0x20, 0x24, 0x28, 0x2C, 0x2D, 0x2F, 0x6D, 0x9F, 0xB0)


def signed(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def words(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def dbm(tenth_microwatts: int) -> float:
    return 10 * math.log10(tenth_microwatts / 10_000) if tenth_microwatts else -math.inf


@pytest.fixture
def dump(host: Host) -> dict[int, bytes]:
    """Whole pages, each at its own addresses; lower memory is LOWER."""
    return {LOWER: host.read(LOWER, 0, 128)} | {page: bytes(128) + host.read(page, 128, 128) for page in PAGES}


def test_lower_memory_says_what_it_is_and_that_it_is_ready(dump: dict[int, bytes]) -> None:
    lower = dump[LOWER]

    assert lower[0] == dump[0x00][128] == 0x18  # QSFP-DD
    assert lower[1] == 0x54
    assert lower[2] >> 7 == 0  # paged
    assert lower[3] >> 1 & 0x7 == 3  # ModuleReady
    assert lower[41] == 0  # no fault
    assert lower[85] == 2  # single-mode


def test_applications_agree_with_lanes_and_end_in_ff(dump: dict[int, bytes]) -> None:
    lower, media = dump[LOWER], dump[0x01]
    applications = [lower[at : at + 4] for at in range(86, 118, 4)]
    used = applications[: next(n for n, application in enumerate(applications) if application[0] == 0xFF)]

    assert used
    for number, (_, _, counts, may_begin) in enumerate(used):
        host_lanes, media_lanes = counts >> 4, counts & 0xF
        assert 1 <= media_lanes <= 8
        for lane in (lane for lane in range(8) if may_begin >> lane & 1):
            assert lane + host_lanes <= 8
        assert media[176 + number] & 1
    assert dump[0x00][210] == 0  # every media lane is there


def test_checksums_are_exact(dump: dict[int, bytes]) -> None:
    assert dump[0x00][222] == sum(dump[0x00][128:222]) & 0xFF
    assert dump[0x01][255] == sum(dump[0x01][130:255]) & 0xFF
    assert dump[0x02][255] == sum(dump[0x02][128:255]) & 0xFF
    assert dump[0xB0][255] == sum(dump[0xB0][128:136]) & 0xFF


def test_names_are_ascii_and_padded_with_spaces(dump: dict[int, bytes]) -> None:
    page = dump[0x00]
    for begin, end in ((129, 145), (148, 164), (164, 166), (166, 182), (182, 190)):
        text = page[begin:end].decode("ascii")
        assert text.isprintable()
        assert text == text.strip().ljust(end - begin)
    assert page[166:182].decode().strip() == "SN0001"
    assert page[182:188].decode().isdecimal()


def test_thresholds_are_in_order(dump: dict[int, bytes]) -> None:
    page = dump[0x02]
    quads = [[signed(page[at : at + 2]) for at in range(128, 136, 2)]]
    quads += [words(page[at : at + 8]) for at in (136, 176, 184, 192)]

    for high_alarm, low_alarm, high_warning, low_warning in quads:
        assert high_alarm > high_warning > low_warning > low_alarm


def test_monitors_are_within_their_thresholds(dump: dict[int, bytes]) -> None:
    lower, limits, lanes = dump[LOWER], dump[0x02], dump[0x11]

    assert signed(limits[134:136]) < signed(lower[14:16]) < signed(limits[132:134])
    assert 3.2 < words(lower[16:18])[0] / 10_000 < 3.4
    for begin, at in ((154, 176), (170, 184), (186, 192)):
        _, _, high, low = words(limits[at : at + 8])
        assert all(low < value < high for value in words(lanes[begin : begin + 16]))


def test_lanes_are_activated_and_valid(dump: dict[int, bytes]) -> None:
    page = dump[0x11]

    assert page[128:132] == bytes([0x44] * 4)
    assert page[132] == page[133] == 0xFF
    assert page[206:214] == dump[0x10][145:153] == bytes([0x10] * 8)
    assert page[235] == 0


def test_flags_that_came_up_with_the_module_are_gone_once_they_are_read(host: Host) -> None:
    host.read(LOWER, 8, 6)
    host.read(0x11, 134, 20)

    assert host.read(LOWER, 4, 10) == bytes(10)
    assert host.read(0x11, 134, 20) == bytes(20)
    assert not host.module.interrupt
    assert host.byte(LOWER, 3) & 1  # IntL is not asserted


def test_durations_are_codes_and_power_class_8_says_how_much(dump: dict[int, bytes]) -> None:
    page = dump[0x01]

    for byte in (144, 167, 168):
        assert all(1 <= code <= 0xD for code in (page[byte] >> 4, page[byte] & 0xF))
    assert dump[0x00][200] >> 5 == 7
    assert dump[0x00][201] * 0.25 == 16.0


def test_vdm_observables_decode(dump: dict[int, bytes]) -> None:
    descriptors = [(dump[0x20][at] >> 4, dump[0x20][at] & 0xF, dump[0x20][at + 1]) for at in range(128, 176, 2)]
    values = words(dump[0x24][128:176])

    assert [kind for _, _, kind in descriptors] == [4] * 8 + [5] * 8 + [15] * 8
    assert [lane for _, lane, _ in descriptors] == [*range(8)] * 3
    for (_, _, kind), value in zip(descriptors, values, strict=True):
        if kind == 4:
            assert 40 < value / 256 < 60
        elif kind == 5:
            assert 15 < value / 256 < 30
        else:
            assert 0 < (value & 0x7FF) * 10.0 ** ((value >> 11) - 24) < 1e-5
    assert dump[0x2F][128] & 0x3 == 0  # one group


def test_the_switch_page_is_signed_and_says_what_it_can_do(dump: dict[int, bytes]) -> None:
    page = dump[0xB0]

    assert page[128:132] == b"OCS1"
    assert page[132] == 1
    assert page[133] == 0b1111
    assert page[135] == 8  # 80 us
    assert page[184:192] == bytes([3] * 8)  # loopback
    for path in (1, 2, 3):
        assert 250 <= signed(page[208 + 2 * path : 210 + 2 * path]) <= 400


def test_what_is_sent_comes_back_on_loopback_less_what_the_switch_takes(dump: dict[int, bytes]) -> None:
    loss = signed(dump[0xB0][214:216]) / 100

    for sent, received in zip(words(dump[0x11][154:170]), words(dump[0x11][186:202]), strict=True):
        assert dbm(sent) - dbm(received) == pytest.approx(loss, abs=0.01)


@pytest.mark.parametrize(
    ("profile", "has"),
    [
        (ModuleProfile(vendor_page=False), {0xB0: False, 0x6D: True, 0x9F: True}),
        (ModuleProfile(lane_switching=False), {0xB0: True, 0x6D: False, 0x9F: True}),
        (ModuleProfile(cdb=CdbMode.NONE), {0xB0: True, 0x6D: True, 0x9F: False}),
    ],
)
def test_what_is_advertised_is_what_there_is(profile: ModuleProfile, has: dict[int, bool]) -> None:
    host = Host(profile)
    host.settle()

    assert bool(host.byte(0x01, 252) & 0x20) == has[0x6D]
    assert bool(host.byte(0x01, 163) >> 6) == has[0x9F]
    for page, there in has.items():
        host.module.write(bytes((126, 0, page)), host.now)
        assert host.module.read(1, host.now, 127)[0] == (page if there else 0)


@pytest.mark.parametrize("seed", range(8))
def test_modules_differ_from_each_other_and_each_is_like_itself(seed: int) -> None:
    first, again, other = Host(seed=seed), Host(seed=seed), Host(seed=seed + 1)
    for each in (first, again, other):
        each.settle()

    assert first.read(0xB0, 128, 128) == again.read(0xB0, 128, 128)
    assert first.now == again.now
    assert first.read(0xB0, 208, 8) != other.read(0xB0, 208, 8)
