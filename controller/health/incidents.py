"""One fault makes its neighbours complain: the correlation of a burst into one incident.

The first fault in a ring opens an incident. Until the burst window is over, faults of *other* nodes of the ring that
can be consequences of it (a link that went down, a collective that was aborted) are laid to it, and no node is
bypassed for them. What is still open when the window is over is judged by itself: nothing is forgiven, only put off.
A fault that cannot be a consequence (a GPU that is gone, a dead module) is a cause wherever it comes up.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incident:
    """A burst of faults with one cause.

    Attributes:
        id: names it in events, such as ``i7``.
        ring: in which it happened.
        node: that complained first: the cause, for all we know.
        opened_at: monotonic seconds.
    """

    id: str
    ring: str
    node: str
    opened_at: float

    def explains(self, node: str, opened_at: float, *, may_be_consequence: bool, window: float) -> bool:
        """Whether a fault of a node, opened at this time, is laid to this incident."""
        return may_be_consequence and node != self.node and self.opened_at <= opened_at < self.opened_at + window
