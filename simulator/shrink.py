"""The smallest list of operations that still fails: delta debugging.

A list is cut into ever smaller parts, and whatever part can be left out without making the failure go away is left
out. Operations were drawn up front, so the others stay what they are.
"""

from collections.abc import Callable, Sequence

_MOST_RUNS = 400


def shrink(operations: Sequence[int], fails: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...]:
    """Leave out what is not needed for a failure.

    Args:
        operations: a list that fails.
        fails: whether a list does.

    Returns:
        A list that fails, and mostly does not without any one of its operations.
    """
    kept = tuple(operations)
    size = max(1, len(kept) // 2)
    runs = 0
    while kept and runs < _MOST_RUNS:
        shorter = None
        for start in range(0, len(kept), size):
            candidate = kept[:start] + kept[start + size :]
            runs += 1
            if fails(candidate):
                shorter = candidate
                break
        if shorter is not None:
            kept = shorter
            size = min(size, max(1, len(kept) // 2))
        elif size == 1:
            break
        else:
            size //= 2
    return kept
