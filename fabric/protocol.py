"""What both ends of a session must agree on, beyond the messages themselves."""

PROTOCOL = 1
"""Version of the protocol between agents and controller."""

SILENT_INTERVALS = 3
"""Heartbeat intervals after which a stream that was silent is dead, for whichever end notices."""
