"""A set of marked positions on an order that may wrap: one byte a position, searched at the speed of memory.

Positions are *unrolled*: on a closed order a stretch that wraps is written with positions beyond N-1 or below 0, and
every question and answer here may use them. Looking for the nearest mark costs no more than the distance to it.
"""

_MARK = b"\x01"


class Marks:
    """Marked positions of an order of a given size."""

    __slots__ = ("_closed", "_marks", "_size")

    def __init__(self, size: int, *, closed: bool) -> None:
        self._size = size
        self._closed = closed
        self._marks = bytearray(size)

    def __getitem__(self, position: int) -> bool:
        return bool(self._marks[position % self._size])

    def __setitem__(self, position: int, marked: bool) -> None:
        self._marks[position % self._size] = marked

    def fill(self) -> None:
        """Mark every position."""
        self._marks[:] = _MARK * self._size

    def next(self, position: int) -> int | None:
        """The first mark at or after a position, on a closed order within one turn."""
        if not self._closed:
            found = self._marks.find(_MARK, max(position, 0))
            return found if found >= 0 else None
        place = position % self._size
        found = self._marks.find(_MARK, place)
        if found < 0:
            found = self._marks.find(_MARK, 0, place)
            if found < 0:
                return None
            found += self._size
        return position - place + found

    def previous(self, position: int) -> int | None:
        """The last mark at or before a position, on a closed order within one turn."""
        if not self._closed:
            found = self._marks.rfind(_MARK, 0, max(position + 1, 0))
            return found if found >= 0 else None
        place = position % self._size
        found = self._marks.rfind(_MARK, 0, place + 1)
        if found < 0:
            found = self._marks.rfind(_MARK, place + 1)
            if found < 0:
                return None
            found -= self._size
        return position - place + found

    def count(self, first: int, last: int) -> int:
        """How many marks lie in [first, last], a stretch of at most one turn."""
        if first > last:
            return 0
        start, end = first % self._size, last % self._size
        if start <= end:
            return self._marks.count(_MARK, start, end + 1)
        return self._marks.count(_MARK, start) + self._marks.count(_MARK, 0, end + 1)

    def copy(self) -> "Marks":
        """A set of its own."""
        other = Marks(self._size, closed=self._closed)
        other._marks[:] = self._marks
        return other


def cut(array: bytearray | bytes, first: int, last: int) -> bytes:
    """The bytes of the unrolled stretch [first, last], at most one turn of the array."""
    if first > last:
        return b""
    size = len(array)
    start, end = first % size, last % size
    if start <= end:
        return bytes(array[start : end + 1])
    return bytes(array[start:]) + bytes(array[: end + 1])
