"""Rings laid into what aligned sets leave free, and in their place where too few rings would fit otherwise.

The exactness of rack-aware placement rests here, and here it rests on `packing`: the woven rings are taken for rings
that the job has already, so of all ways to have the number of rings wanted, most woven ones stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringlight.controller.planning.order import Chain, Order
from ringlight.controller.planning.packing import pack
from ringlight.controller.planning.shaping import shortest

_JOB = ""  # no job has this name


@dataclass(frozen=True, slots=True)
class Filled:
    """Woven rings that stay, and rings laid anew."""

    kept: tuple[Chain, ...]
    added: tuple[Chain, ...]


def fill(order: Order, nodes: int, woven: Sequence[Chain], wanted: int) -> Filled:
    """Rings to reach `wanted`, or as many as fit; few woven ones give way, and none if there is room without."""
    if len(woven) >= wanted:
        return Filled(tuple(woven), ())
    trial = order.copy()
    for number, chain in enumerate(woven):
        trial.lay(f"woven {number}", _JOB, chain)
    moved: set[Chain] = set()
    added: list[Chain] = []
    for zone in pack(trial, _JOB, nodes, wanted).zones:
        moved |= {ring.chain for ring in trial.rings_in(zone.first, zone.last)}
        chains = shortest(trial.strip(zone.first, zone.last), nodes, zone.moved + zone.gain)
        added += [tuple(map(order.wrap, chain)) for chain in chains]
    return Filled(tuple(chain for chain in woven if chain not in moved), tuple(added))
