"""Appointments: none is missed, none is kept that was replaced."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.emulator.agenda import Agenda

APPOINTMENTS = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 20)), max_size=300)


@given(APPOINTMENTS, st.integers(0, 20))
def test_due_are_exactly_the_last_appointments_up_to_now_in_order_of_time(appointments, now):
    agenda: Agenda[tuple[int]] = Agenda()
    expected: dict[tuple[int], int] = {}
    for number, when in appointments:
        agenda.appoint((number,), when)
        expected.pop((number,), None)
        if when is not None:
            expected[number,] = when
    due = agenda.due(now)
    assert sorted(due) == sorted(key for key, when in expected.items() if when <= now)
    assert [expected[key] for key in due] == sorted(expected[key] for key in due)
    assert agenda.next() == min((when for when in expected.values() if when > now), default=None)


def test_replacing_an_appointment_many_times_does_not_pile_up():
    agenda: Agenda[tuple[int]] = Agenda()
    for when in range(10_000):
        agenda.appoint((0,), when)
    assert len(agenda._heap) < 100
    assert agenda.next() == 9_999
