"""The hop distances of a fabric file: listed by `distances`, or 1..k; and what makes no sense about them.

On a closed order a hop over d positions forward must never be mistaken for one backward, so that an order needs more
than twice as many nodes as its longest distance.
"""

from itertools import pairwise

from ringlight.fabric.problem import Problem
from ringlight.fabric.schema import MAX_K, FabricEntry
from ringlight.fabric.spec import nearest_distances


class HopDistances:
    """What a file says about hop distances.

    Attributes:
        values: the distances, from the shortest to the longest; None when they are not known.
        k: how many there are; None when that is not known. It may be known when `values` are not.
        listed: the file lists them.
        problems: what makes no sense about `k` and `distances` themselves.
    """

    def __init__(self, entry: FabricEntry) -> None:
        self.values: tuple[int, ...] | None = None
        self.k = entry.k
        self.listed = "distances" in entry.model_fields_set
        self.problems: list[Problem] = []
        if entry.distances is not None:
            self._read(entry.distances)
        elif entry.k is not None and not self.listed:
            self.values = nearest_distances(entry.k)
        elif "k" not in entry.model_fields_set and not self.listed:
            self._problem("k", "is missing; give it, or distances")

    def _read(self, distances: list[int | None]) -> None:
        """The listed distances; None stands for one that was wrong."""
        said, count = self.k, len(distances)
        self.k = count
        if not 1 <= count <= MAX_K:
            self._problem("distances", f"expected 1 to {MAX_K} distances, found {count}")
            self.k = None
        elif said not in (None, count):
            self._problem("k", f"expected the number of distances, which is {count}, or no k at all, found {said}")
            self.k = None
        known = [(number, distance) for number, distance in enumerate(distances) if distance is not None]
        for (_, before), (number, distance) in pairwise(known):
            if distance <= before:
                order = "list each distance once, from the shortest to the longest"
                self._problem(f"distances[{number}]", f"expected more than {before}, found {distance}; {order}")
        if len(known) == count and not self.problems:
            self.values = tuple(distance for _, distance in known)

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def check_gpus(self, gpus: int) -> list[Problem]:
        """What makes no sense on nodes of so many GPUs: each distance takes a bundle, and each bundle an edge."""
        if self.k is None or self.k <= gpus:
            return []
        path = "distances" if self.listed else "k"
        return [Problem(path, f"expected at most the {gpus} GPUs of a node, found {self.k}")]

    def check_order(self, size: int, *, closed: bool) -> list[Problem]:
        """What makes no sense on an order of so many nodes."""
        if self.values is None:
            return []
        if not closed:
            # K alone may be more than a small order needs, for it is a property of the nodes: ports stay empty.
            return [
                Problem(
                    f"distances[{number}]",
                    f"no two of the {size} nodes are {distance} positions apart; leave it out, or add nodes",
                )
                for number, distance in enumerate(self.values)
                if self.listed and distance >= size
            ]
        longest = self.values[-1]
        if size > 2 * longest:
            return []
        if self.listed:
            needs = f"a closed order whose longest distance is {longest} needs at least 2*{longest}+1"
            fix = "add nodes, list shorter distances, or say closed: false"
        else:
            needs = f"a closed order with k = {longest} needs at least 2k+1"
            fix = "add nodes, or say closed: false"
        return [Problem("nodes", f"{needs} = {2 * longest + 1} nodes, found {size}; {fix}")]

    def allows(self, steps: int) -> bool:
        """Whether so many positions forward may be a hop; when the distances are not known, any may."""
        return self.values is None or steps in self.values

    @property
    def offset_in_words(self) -> str:
        """What an offset may be, after "an offset"."""
        if self.values is None or not self.listed:
            return f"from 1 to {self.k or 'k'}"
        *former, last = map(str, self.values)
        return f"of {', '.join(former)} or {last}" if former else f"of {last}"

    @property
    def in_words(self) -> str:
        """The distances as the file gives them, as a clause."""
        if self.listed:
            return f"the distances are {', '.join(map(str, self.values or ()))}"
        return f"k = {self.k} allows 1 to {self.k}"
