"""What becomes of a command to a node: the words in which agents answer and the controller understands.

The numbers are those of the wire protocol.
"""

from enum import IntEnum


class ApplyCode(IntEnum):
    """What became of a command."""

    UNSPECIFIED = 0
    APPLIED = 1  # read back as asked
    UNCHANGED = 2  # was so already: no hardware write
    REVERTED = 3  # not confirmed in time: back at the last confirmed table
    FAILED = 4  # something did not read back as asked
    STALE_EPOCH = 5  # refused: a higher epoch was seen before
    STALE_GENERATION = 6  # refused: a higher generation was applied before
    UNKNOWN_NODE = 7  # refused: this agent does not serve the node
    BAD_TABLE = 8  # refused: wrong number of bundles, or a path that is not cabled


class BundleCode(IntEnum):
    """What became of one bundle."""

    UNSPECIFIED = 0
    SWITCHED = 1  # written and read back
    UNCHANGED = 2  # was so already
    STUCK = 3  # written, reads back something else
    TIMEOUT = 4  # no answer in time: its path is unknown until read
    NOT_TRIED = 5  # the whole command was refused


WRONG = frozenset({BundleCode.STUCK, BundleCode.TIMEOUT})
"""A bundle that was told and did not do it: a fault of its node until it does."""
