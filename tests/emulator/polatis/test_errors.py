"""The error queue, as SCPI-99 has it."""

from ringlight.emulator.polatis.errors import QUEUE_OVERFLOW, ErrorQueue, ScpiError, is_command_error


def _queue(entries, size):
    queue = ErrorQueue(size)
    for number in range(entries):
        queue.put(ScpiError(-200 - number, "x"))
    return queue


def test_first_in_first_out_and_then_no_error():
    queue = _queue(2, 20)
    assert queue
    assert [str(queue.take()) for _ in range(3)] == ['-200,"x"', '-201,"x"', '0,"No error"']
    assert not queue


def test_when_it_is_full_the_newest_entry_becomes_the_overflow_and_the_oldest_stay():
    queue = _queue(7, 3)
    assert [error.code for error in queue.take_all()] == [-200, -201, -350]
    assert [error.code for error in queue.take_all()] == [0]


def test_after_an_overflow_there_is_room_for_as_many_as_were_read():
    queue = _queue(4, 3)
    queue.take()
    queue.put(ScpiError(-222, "y"))
    assert [error.code for error in queue.take_all()] == [-201, QUEUE_OVERFLOW.code, -222]


def test_only_the_hundreds_are_errors_of_the_line_itself():
    assert [is_command_error(ScpiError(code, "")) for code in (-100, -199, -200, -350, 0)] == [
        True,
        True,
        False,
        False,
        False,
    ]
