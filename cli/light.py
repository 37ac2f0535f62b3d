"""How traced light is drawn: GPU cycles as chains of nodes.

A ring's light runs along its chain and back, so it passes every inner node twice and each end once. The chain is
read off from one end.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ringlight.cli.output import listing
from ringlight.protos.v1 import emulator_pb2 as pb


def chain_of(gpus: Sequence[str]) -> list[str]:
    """The nodes of a GPU cycle in chain order, each once."""
    visits = visits_of(gpus)
    if len(visits) > 1 and visits[0] == visits[-1]:
        visits.pop()  # the cycle was cut open in the middle of this visit
    times = Counter(visits)
    start = next((place for place, node in enumerate(visits) if times[node] == 1), 0)
    return list(dict.fromkeys(visits[start:] + visits[:start]))


def visits_of(gpus: Iterable[str]) -> list[str]:
    """The nodes that a path of GPUs passes, in order."""
    return [node for node, _ in groupby(gpu.rpartition("/")[0] for gpu in gpus)]


def trace_view(reply: pb.TraceReply, *, gpus: bool) -> RenderableType:
    """Rings, idle nodes and dangling chains; with `gpus`, each path GPU by GPU."""
    if gpus:
        return Group(
            _paths("CYCLE", [" ".join(path.gpus) for path in reply.cycles], [len(path.gpus) for path in reply.cycles]),
            *_dangling([" ".join(path.gpus) for path in reply.dangling], [len(path.gpus) for path in reply.dangling]),
        )
    chains = [(chain_of(path.gpus), len(path.gpus)) for path in reply.cycles]
    rings = [(chain, count) for chain, count in chains if len(chain) > 1]
    idle = [chain[0] for chain, _ in chains if len(chain) == 1]
    return Group(
        _paths("CYCLE", [" ".join(chain) for chain, _ in rings], [count for _, count in rings]),
        Text(f"\ncycles of one node ({len(idle)}): {' '.join(idle) or 'none'}"),
        *_dangling([" ".join(visits_of(path.gpus)) for path in reply.dangling], [len(p.gpus) for p in reply.dangling]),
    )


def _dangling(texts: list[str], counts: list[int]) -> list[RenderableType]:
    return ["", _paths("DANGLING", texts, counts)] if texts else ["", "nothing dangles"]


def _paths(name: str, texts: list[str], counts: list[int]) -> Table:
    rows = [(str(count), text) for text, count in zip(texts, counts, strict=True)]
    return listing(("GPUS", name), rows, free=(name,))
