"""The machine's clock."""

import time


class SystemClock:
    """The real `Clock`."""

    def monotonic(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()
