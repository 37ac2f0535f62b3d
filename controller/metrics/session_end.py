"""Why a session of an agent ended, as the controller saw it: a closed set of words."""

from enum import StrEnum


class SessionEnd(StrEnum):
    """Why it ended."""

    GOODBYE = "goodbye"  # its agent stopped in order
    BROKEN = "broken"  # its stream ended or broke: the agent died, or the network did
    SILENT = "silent"  # nothing was heard for too long
    SLOW = "slow"  # its agent did not take what it was sent
    REPLACED = "replaced"  # we ended it: its agent has to introduce itself anew
    STOPPING = "stopping"  # this controller stopped
