import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.emulator.module.module import LANES
from ringlight.emulator.module.profile import CdbMode, ModuleProfile
from ringlight.fabric.circuits import Path
from tests.emulator.module.host import LOWER, Host

DARK, PATH_1, PATH_2, LOOPBACK = 0, 1, 2, 3
NONE, SUCCESS, IN_PROGRESS, INVALID, NO_PERMUTATION, CONFLICT, ORDER, HARDWARE, LOCKED = range(9)
PATHS = {DARK: Path.DARK, PATH_1: Path.PATH_1, PATH_2: Path.PATH_2, LOOPBACK: Path.LOOPBACK}
ORDERS = {PATH_1: (1, 2, 3, 4, 5, 6, 7, 8), PATH_2: (5, 6, 7, 8, 1, 2, 3, 4), LOOPBACK: (8, 7, 6, 5, 4, 3, 2, 1)}


@pytest.mark.parametrize("code", PATHS)
def test_a_commit_moves_the_light(host: Host, code: int) -> None:
    host.move(code)

    assert host.read(0xB0, 168, 8) == bytes([SUCCESS] * 8)
    assert host.read(0xB0, 184, 8) == bytes([code] * 8)
    assert host.module.path() is PATHS[code]
    for port in (Path.PATH_1, Path.PATH_2):
        assert all((power > -10) == (PATHS[code] is port) for power in host.module.emitted(port))


def test_in_progress_until_it_is_done_within_what_is_advertised(host: Host) -> None:
    host.stage(PATH_1)
    host.write(0xB0, 160, 1)

    assert host.read(0xB0, 168, 8) == bytes([IN_PROGRESS] * 8)
    assert host.read(0xB0, 184, 8) == bytes([LOOPBACK] * 8)
    host.wait(0.005)  # code 1, as advertised
    assert host.byte(0xB0, 134) >> 4 == 1
    assert host.read(0xB0, 168, 8) == bytes([SUCCESS] * 8)


def test_the_light_is_away_for_60_to_80_microseconds(host: Host) -> None:
    host.stage(PATH_2)
    host.write(0xB0, 160, 1)
    left = host.module.next_event()
    assert left is not None
    host.module.advance(left)
    arrived = host.module.next_event()
    assert arrived is not None

    assert 60e-6 <= arrived - left <= 80e-6
    assert host.module.path() is Path.DARK
    host.settle()
    assert host.word(0xB0, 192) == round((arrived - left) * 1e6)


def test_enabling_alone_moves_nothing_and_a_commit_that_is_not_enabled_says_nothing(host: Host) -> None:
    host.stage(PATH_1)
    host.settle()
    assert host.read(0xB0, 184, 8) == bytes([LOOPBACK] * 8)

    host.write(0xB0, 152, 0)
    host.write(0xB0, 160, 1)
    host.settle()
    assert host.read(0xB0, 168, 8) == bytes([NONE] * 8)
    assert host.read(0xB0, 184, 8) == bytes([LOOPBACK] * 8)


def test_triggers_read_as_zero(host: Host) -> None:
    host.move(PATH_1)

    assert host.read(0xB0, 160, 2) == b"\0\0"


def test_a_path_that_there_is_not_is_refused_and_nothing_moves(host: Host) -> None:
    host.stage(1, 1, 1, 1, 1, 1, 1, 9)
    host.write(0xB0, 160, 1)
    host.settle()

    assert host.read(0xB0, 168, 8) == bytes([INVALID] * 8)
    assert host.module.path() is Path.LOOPBACK


def test_lanes_of_one_data_path_cannot_part_but_those_of_two_can(host: Host) -> None:
    host.stage(1, 1, 1, 1, 2, 2, 2, 2)
    host.write(0xB0, 160, 1)
    host.settle()
    assert host.read(0xB0, 168, 8) == bytes([INVALID] * 8)

    host.write(0x10, 145, *[0x20] * 4, *[0x28] * 4)
    host.write(0x10, 143, 0xFF)
    host.settle()
    host.write(0xB0, 160, 1)
    host.settle()
    assert host.read(0xB0, 184, 8) == bytes([1, 1, 1, 1, 2, 2, 2, 2])
    assert host.module.path() is Path.UNKNOWN


def test_a_second_commit_is_passed_over_while_the_first_is_under_way(host: Host) -> None:
    host.stage(PATH_1)
    host.write(0xB0, 160, 1)
    host.stage(PATH_2)
    host.write(0xB0, 160, 1)
    host.settle()

    assert host.read(0xB0, 184, 8) == bytes([PATH_1] * 8)
    assert host.read(0xB0, 200, 4) == bytes([0, 0, 0, 1])


def test_presets(host: Host) -> None:
    host.write(0xB0, 144, PATH_1, PATH_2, LOOPBACK, DARK)
    host.write(0xB0, 152, 1)

    for slot, code in enumerate((PATH_1, PATH_2, LOOPBACK, DARK), start=1):
        host.write(0xB0, 161, slot)
        host.settle()
        assert host.read(0xB0, 184, 8) == bytes([code] * 8)
    host.write(0xB0, 161, 5)
    assert host.read(0xB0, 168, 8) == bytes([INVALID] * 8)


@pytest.mark.parametrize("code", ORDERS)
def test_lane_switching_moves_the_same_switch(host: Host, code: int) -> None:
    host.move(DARK)
    host.write(0x6D, 136, *ORDERS[code])
    host.write(0x6D, 152, 1)
    host.write(0x6D, 160, 1)
    assert host.read(0x6D, 168, 8) == bytes([IN_PROGRESS] * 8)
    host.settle()

    assert host.read(0x6D, 168, 8) == bytes([SUCCESS] * 8)
    assert host.read(0x6D, 184, 8) == bytes(ORDERS[code])
    assert host.read(0xB0, 184, 8) == bytes([code] * 8)


@pytest.mark.parametrize(
    ("lanes", "result"),
    [
        ((1, 1, 3, 4, 5, 6, 7, 8), NO_PERMUTATION),
        ((0, 1, 2, 3, 4, 5, 6, 7), INVALID),
        ((2, 1, 3, 4, 5, 6, 7, 8), ORDER),
    ],
)
def test_lanes_that_mean_no_path_are_refused(host: Host, lanes: tuple[int, ...], result: int) -> None:
    host.write(0x6D, 136, *lanes)
    host.write(0x6D, 152, 1)
    host.write(0x6D, 160, 1)
    host.settle()

    assert host.read(0x6D, 168, 8) == bytes([result] * 8)
    assert host.module.path() is Path.LOOPBACK


def test_a_command_moves_lanes_and_tells_their_results(host: Host) -> None:
    status, reply = host.command(0x8000, bytes((0xFF, PATH_2, 0)))
    assert (status, reply) == (0x01, bytes([SUCCESS] * 8))

    status, reply = host.command(0x8001)
    assert reply == bytes([PATH_2] * 8) + bytes([SUCCESS] * 8) + bytes([0, 0, 0, 1])
    assert host.read(0xB0, 184, 8) == bytes([PATH_2] * 8)


def test_whoever_owns_the_switch_keeps_the_others_out(host: Host) -> None:
    host.write(0xB0, 153, 7)

    assert host.command(0x8000, bytes((0xFF, PATH_2, 0)))[1] == bytes([LOCKED] * 8)
    host.write(0x6D, 152, 1)
    host.write(0x6D, 160, 1)
    assert host.read(0x6D, 168, 8) == bytes([CONFLICT] * 8)
    assert host.module.path() is Path.LOOPBACK
    assert host.command(0x8000, bytes((0xFF, PATH_2, 7)))[1] == bytes([SUCCESS] * 8)


@pytest.mark.parametrize(
    ("number", "payload", "wrong_by", "status"),
    [
        (0x8000, b"\xff\x01\x00", 1, 0x45),
        (0x8000, b"\xff\x04\x00", 0, 0x42),
        (0x8000, b"\xff\x01", 0, 0x42),
        (0x7777, b"", 0, 0x41),
        (0x0001, b"\x00\x00\x10\x11", 0, 0x01),
        (0x0001, b"\x00\x00\x10\x12", 0, 0x46),
        (0x0000, b"", 0, 0x01),
        (0x0041, b"", 0, 0x01),
        (0x0042, b"", 0, 0x01),
    ],
)
def test_commands_are_checked(host: Host, number: int, payload: bytes, wrong_by: int, status: int) -> None:
    host.read(LOWER, 8)

    assert host.command(number, payload, wrong_by=wrong_by)[0] == status
    assert host.byte(LOWER, 8) & 0x40
    assert host.module.path() is Path.LOOPBACK


def test_a_reply_has_a_check_code_and_says_which_commands_there_are(host: Host) -> None:
    _, reply = host.command(0x0040)

    assert host.byte(0x9F, 135) == 0xFF - (sum(reply) & 0xFF)
    known = int.from_bytes(reply[2:34], "little")
    assert [number for number in range(256) if known >> number & 1] == [0x00, 0x01, 0x03, 0x40, 0x41, 0x42]
    assert int.from_bytes(reply[34:36], "big") == 5000


@pytest.mark.parametrize("mode", [CdbMode.FOREGROUND, CdbMode.BACKGROUND])
def test_a_command_in_the_foreground_silences_the_module_until_it_is_done(mode: CdbMode) -> None:
    host = Host(ModuleProfile(cdb=mode))
    host.settle()
    assert bool(host.byte(0x01, 163) & 0x20) == (mode is CdbMode.BACKGROUND)

    host.give(0x0040)

    assert host.refuses() == (mode is CdbMode.FOREGROUND)
    if mode is CdbMode.BACKGROUND:
        assert host.byte(LOWER, 37) in {0x81, 0x83}
    host.settle()
    assert not host.refuses()
    assert host.byte(LOWER, 37) == 0x01


def test_a_long_command_is_written_at_once_where_that_is_advertised(host: Host) -> None:
    assert host.byte(0x01, 164) == 15
    payload = bytes((0xFF, PATH_1, 0))
    head = bytes((0x80, 0x00, 0, 0, len(payload)))
    host.select(0x9F)

    host.module.write(bytes((128,)) + head + bytes((0xFF - (sum(head + payload) & 0xFF), 0, 0)) + payload, host.now)
    host.settle()

    assert host.module.path() is Path.PATH_1


def test_light_that_arrives_is_seen_behind_the_switch(host: Host) -> None:
    host.move(PATH_1)
    assert not host.module.sees_light()

    host.module.receive(Path.PATH_1, (-3.0,) * LANES, host.now)
    assert host.module.sees_light()
    loss = int.from_bytes(host.read(0xB0, 210, 2), "big", signed=True) / 100
    assert host.word(0x11, 186) == round(10 ** ((-3.0 - loss) / 10) * 10_000)

    host.module.receive(Path.PATH_1, (-3.0,) * 7 + (-14.0,), host.now)
    assert not host.module.sees_light()
    assert host.byte(0x11, 132) == 0x7F
    assert host.byte(0x11, 147) & 0x80


def test_a_lost_signal_has_to_come_back_more_than_it_went(host: Host) -> None:
    host.move(PATH_1)
    loss = int.from_bytes(host.read(0xB0, 210, 2), "big", signed=True) / 100

    seen = []
    for power in (-16.0, -15.0, -14.0, -15.0, -16.0):
        host.module.receive(Path.PATH_1, (power + loss,) * LANES, host.now)
        seen.append(host.module.sees_light())

    assert seen == [False, False, True, True, False]


@settings(deadline=None)
@given(
    seed=st.integers(0, 1000),
    moves=st.lists(
        st.tuples(st.sampled_from(sorted(PATHS)), st.floats(0, 0.01), st.integers(0, 255)), min_size=1, max_size=8
    ),
)
def test_what_is_committed_is_what_the_light_does_whatever_a_host_does(
    seed: int, moves: list[tuple[int, float, int]]
) -> None:
    host = Host(seed=seed)
    host.settle()
    for code, wait, byte in moves:
        host.stage(code)
        host.write(0xB0, 160, byte)
        host.wait(wait)
        if host.byte(0xB0, 168) != IN_PROGRESS:
            committed = set(host.read(0xB0, 184, 8))
            assert {host.module.path()} == {PATHS[code] for code in committed}
    host.settle()
    assert {host.module.path()} == {PATHS[code] for code in set(host.read(0xB0, 184, 8))}


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 1000),
    pages=st.lists(st.integers(0, 255), min_size=1, max_size=10),
    writes=st.lists(st.tuples(st.integers(0, 255), st.binary(min_size=1, max_size=8)), min_size=1, max_size=20),
)
def test_no_writing_breaks_a_module(seed: int, pages: list[int], writes: list[tuple[int, bytes]]) -> None:
    host = Host(seed=seed)
    host.settle()
    for page, (address, content) in zip(itertools.cycle(pages), writes, strict=False):
        end = 128 if address < 128 else 256
        if not host.refuses():
            host.module.write(bytes((126, 0, page)), host.now)
            host.module.write(bytes((address,)) + content[: end - address], host.now)
            host.wait(0.001)
    host.settle()
    for page in range(256):
        if not host.refuses():
            host.module.write(bytes((126, 0, page)), host.now)
            assert len(host.module.read(128, host.now, 128)) == 128
