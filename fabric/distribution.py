"""How values are distributed, counted as a Prometheus histogram is: cheap to note, and shown as it stands."""

from bisect import bisect_left


class Distribution:
    """How often values fell below each bound.

    Attributes:
        bounds: upper bounds, inclusive, ascending.
        sum: of all values.
    """

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.sum = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def copy(self) -> "Distribution":
        """As it is now."""
        other = Distribution(self.bounds)
        other.sum = self.sum
        other._counts = list(self._counts)
        return other

    def note(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[str, float]]:
        """By bound, as Prometheus writes it, how many values were not above it."""
        total = 0
        shown = []
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self._counts, strict=True):
            total += count
            shown.append((bound, float(total)))
        return shown
