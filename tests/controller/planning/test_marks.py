"""Sets of positions on orders that wrap and that do not, against plain lists."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.planning.marks import Marks, cut


@st.composite
def marked(draw):
    size, closed = draw(st.integers(1, 12)), draw(st.booleans())
    positions = draw(st.sets(st.integers(0, size - 1)))
    marks = Marks(size, closed=closed)
    for position in positions:
        marks[position] = True
    start = draw(st.integers(-size, 2 * size)) if closed else draw(st.integers(-2, size + 1))
    return marks, size, closed, positions, start


@given(marked())
def test_the_next_and_the_previous_mark(case):
    marks, size, closed, positions, start = case
    ahead = range(start, start + size) if closed else range(max(start, 0), size)
    behind = range(start, start - size, -1) if closed else range(min(start, size - 1), -1, -1)
    assert marks.next(start) == next((p for p in ahead if p % size in positions), None)
    assert marks.previous(start) == next((p for p in behind if p % size in positions), None)


@given(marked(), st.integers(0, 11))
def test_counting_and_cutting_a_stretch(case, length):
    marks, size, closed, positions, start = case
    first = start if closed else min(max(start, 0), size - 1)
    last = first + min(length, size - 1) if closed else min(first + length, size - 1)
    stretch = range(first, last + 1)
    assert marks.count(first, last) == sum(p % size in positions for p in stretch)
    assert cut(bytes(p in positions for p in range(size)), first, last) == bytes(p % size in positions for p in stretch)


@given(marked())
def test_an_empty_stretch_holds_nothing(case):
    marks, size, _, _, start = case
    assert marks.count(start, start - 1) == 0
    assert cut(bytes(size), start, start - 1) == b""


def test_a_copy_is_its_own():
    marks = Marks(4, closed=True)
    other = marks.copy()
    other[6] = True
    assert other[2]
    assert not marks[2]


def test_a_cut_of_any_bytes_wraps():
    assert cut(b"abcd", 3, 5) == b"dab"
