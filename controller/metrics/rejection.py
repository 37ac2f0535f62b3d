"""Why a heartbeat that came over MQTT counted for nothing: a closed set of words."""

from enum import StrEnum


class Rejection(StrEnum):
    """Why."""

    RETAINED = "retained"  # a broker kept it
    MALFORMED = "malformed"
    NO_SESSION = "no-session"  # of an agent that has none, or another one by now
