"""The optics: what moves when, what is refused, where light is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator.polatis.errors import RefusedError
from ringlight.emulator.polatis.matrix import FLOOR_DBM, LAUNCH_DBM, MOVE_SECONDS, BootMode, Matrix, PortState

LATER = 10.0  # seconds; every mirror stands still by then


@pytest.fixture
def matrix():
    return Matrix(4, 4, seed=1)


def _refused(code, act, *arguments):
    with pytest.raises(RefusedError) as caught:
        act(*arguments)
    assert caught.value.error.code == code


def test_a_move_takes_its_time_and_is_dark_meanwhile(matrix):
    matrix.connect({1: 5}, 0.0)
    assert matrix.connections(0.0) == {}
    assert matrix.power(5, MOVE_SECONDS[0] / 2) == FLOOR_DBM
    still = matrix.still_at(0.0)
    assert MOVE_SECONDS[0] <= still <= MOVE_SECONDS[1]
    assert matrix.connections(still - 1e-9) == {}
    assert matrix.connections(still) == {1: 5}
    assert matrix.still_at(still) == still


def test_commands_are_carried_out_one_after_another_and_leave_the_others_lit(matrix):
    matrix.connect({1: 5}, 0.0)
    first = matrix.still_at(0.0)
    matrix.connect({2: 6}, 0.0)
    second = matrix.still_at(0.0)
    assert second - first >= MOVE_SECONDS[0]
    assert matrix.connections(first) == {1: 5}
    assert matrix.connections(second) == {1: 5, 2: 6}
    matrix.disconnect([2], [], second)
    assert matrix.connections(second) == {1: 5}, "what lets go is dark at once, and what is not touched stays lit"
    assert matrix.moves == 3


def test_what_changes_nothing_moves_nothing(matrix):
    matrix.connect({1: 5}, 0.0)
    matrix.connect_only({1: 5}, 1.0)
    assert matrix.moves == 1
    assert matrix.connections(1.0) == {1: 5}


def test_only_replaces_all(matrix):
    matrix.connect({1: 5, 2: 6}, 0.0)
    matrix.connect_only({1: 6, 3: 5}, 1.0)
    assert matrix.connections(LATER) == {1: 6, 3: 5}
    matrix.disconnect_all(LATER)
    assert matrix.connections(2 * LATER) == {}


def test_a_command_is_carried_out_as_a_whole_or_not_at_all(matrix):
    matrix.connect({1: 5}, 0.0)
    _refused(-221, matrix.connect, {2: 6, 3: 5}, 1.0)  # an egress that is in use
    _refused(-221, matrix.connect, {2: 6, 1: 7}, 1.0)  # an ingress that is in use
    _refused(-222, matrix.connect, {2: 6, 3: 9}, 1.0)
    _refused(-222, matrix.connect, {2: 6, 3: 4}, 1.0)  # two ingresses
    _refused(-222, matrix.connect, {5: 6}, 1.0)  # two egresses
    _refused(-224, matrix.connect, {2: 6, 3: 6}, 1.0)
    _refused(-221, matrix.disconnect, [1, 2], [], 1.0)
    _refused(-221, matrix.disconnect, [1], [6], 1.0)
    _refused(-224, matrix.disconnect, [1], [5, 6], 1.0)
    _refused(-222, matrix.disconnect, [5], [], 1.0)
    assert matrix.connections(LATER) == {1: 5}
    assert matrix.moves == 1


def test_broken_and_disabled_ports(matrix):
    matrix.connect({1: 5}, 0.0)
    matrix.set_state([5, 2], PortState.FAILED)
    matrix.set_state([3], PortState.DISABLED)
    assert matrix.states([5, 1, 3]) == [PortState.FAILED, PortState.ENABLED, PortState.DISABLED]
    assert matrix.power(5, LATER) == FLOOR_DBM
    assert matrix.connections(LATER) == {1: 5}, "the mirrors stay where they are"
    _refused(-240, matrix.connect, {2: 6}, LATER)
    _refused(-221, matrix.connect, {3: 6}, LATER)
    _refused(-240, matrix.set_state, [5], PortState.ENABLED)  # asking does not mend it
    matrix.mend([5])
    assert matrix.power(5, LATER) > FLOOR_DBM
    _refused(-222, matrix.states, [9])
    _refused(-222, matrix.mend, [0])


def test_light_follows_the_cross_connect_and_loses_the_same_every_time(matrix):
    assert matrix.power(1, 0.0) == LAUNCH_DBM
    matrix.connect({1: 5}, 0.0)
    first = matrix.power(5, LATER)
    assert LAUNCH_DBM - 1.8 <= first <= LAUNCH_DBM - 0.8
    matrix.connect_only({1: 6}, LATER)
    matrix.connect_only({1: 5}, LATER)
    assert matrix.power(5, 2 * LATER) == first
    matrix.send([1], -10.0)
    assert matrix.power(5, 2 * LATER) == pytest.approx(first - 10.0)
    matrix.send([1], None)
    assert matrix.power(1, 2 * LATER) == matrix.power(5, 2 * LATER) == FLOOR_DBM
    _refused(-222, matrix.send, [5], 0.0)


@pytest.mark.parametrize(
    ("mode", "left"), [(BootMode.DARK, {}), (BootMode.RESTORE, {1: 5}), (BootMode.AUTOMATIC, {1: 5})]
)
def test_what_is_left_after_a_power_cycle(matrix, mode, left):
    matrix.boot_mode = mode
    matrix.connect({1: 5}, 0.0)
    matrix.lose_power()
    assert matrix.connections(LATER) == left


def test_what_is_slow_and_what_is_deaf(matrix):
    matrix.slower = 1.0
    matrix.connect({1: 5}, 0.0)
    assert matrix.still_at(0.0) >= 1.0 + MOVE_SECONDS[0]
    matrix.deaf_for = 1
    matrix.connect({2: 6}, LATER)
    assert matrix.moves == 1
    matrix.connect({3: 7}, LATER)
    assert matrix.connections(2 * LATER) == {1: 5, 3: 7}


def test_the_other_end_of_a_port(matrix):
    matrix.connect({1: 7}, 0.0)
    assert [matrix.peer(port, LATER) for port in (1, 7, 2, 8)] == [7, 1, None, None]
    _refused(-222, matrix.peer, 9, LATER)


commands = st.one_of(
    st.tuples(st.just("connect"), st.dictionaries(st.integers(0, 9), st.integers(0, 9), max_size=4)),
    st.tuples(st.just("connect_only"), st.dictionaries(st.integers(0, 9), st.integers(0, 9), max_size=4)),
    st.tuples(st.just("disconnect"), st.lists(st.integers(0, 9), max_size=4)),
)


@given(st.lists(st.tuples(commands, st.floats(0.0, 0.1)), max_size=20), st.integers(0, 9))
def test_whatever_is_commanded_whenever_the_mirrors_always_hold_a_matching(steps, seed):
    """A table kept by hand says what the end is; on the way every light path is one that was commanded."""
    matrix, now, kept, ever = Matrix(4, 4, seed=seed), 0.0, {}, set()
    for (name, what), pause in steps:
        try:
            if name == "disconnect":
                matrix.disconnect(what, [], now)
                kept = {i: e for i, e in kept.items() if i not in what}
            else:
                getattr(matrix, name)(what, now)
                kept = {**(kept if name == "connect" else {}), **what}
        except RefusedError:
            pass
        ever |= set(kept.items())
        now += pause
        found = matrix.connections(now)
        assert set(found.items()) <= ever
        assert len(set(found.values())) == len(found)
    assert matrix.connections(matrix.still_at(now)) == kept
