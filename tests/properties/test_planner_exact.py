"""The planner against exhaustive search: on small fabrics it finds the most rings and keeps the most of them."""

from collections.abc import Callable
from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.controller.planning.planner import RingPlan, RingRequest, plan_rings
from ringlight.controller.planning.terrain import Chain, Terrain
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.rings import chain_hops
from ringlight.fabric.wiring import HopKey, Wiring


def covered(wiring: Wiring, chain: Chain) -> frozenset[int]:
    """The span of a forward chain, counted step by step."""
    positions = {chain[0]}
    for here, there in pairwise(chain):
        position = here
        while position != there:
            position = (position + 1) % wiring.size
            positions.add(position)
    return frozenset(positions)


def every_chain(wiring: Wiring, nodes: int) -> list[Chain]:
    """Every forward chain that ports and fibres allow and that does not run into itself."""
    chains: list[Chain] = [(position,) for position in range(wiring.size)]
    for _ in range(nodes - 1):
        chains = [
            (*chain, (chain[-1] + distance) % wiring.size)
            for chain in chains
            for distance in range(1, wiring.spec.k + 1)
            if wiring.hop(chain[-1], distance) is not None
        ]
    return [chain for chain in chains if is_chain(wiring, chain)]


def is_chain(wiring: Wiring, chain: Chain) -> bool:
    steps = sum((b - a) % wiring.size for a, b in pairwise(chain))
    if steps >= wiring.size:
        return False
    try:
        chain_hops(wiring, chain)
    except InvalidError:
        return False
    return True


def stands(wiring: Wiring, chain: Chain, down: set[int], dead: set[HopKey]) -> bool:
    return not set(chain) & down and not {hop.key for hop in chain_hops(wiring, chain)} & dead


def best(candidates: list[frozenset[int]], survivors: list[frozenset[int]], wanted: int) -> tuple[int, int]:
    """By trying everything: most rings up to the number wanted, then most survivors."""
    top = (0, 0)

    def search(index: int, taken: frozenset[int], rings: int, kept: int) -> None:
        nonlocal top
        top = max(top, (rings, kept))
        if rings == wanted:
            return
        for number in range(index, len(everything)):
            span, survives = everything[number]
            if not span & taken:
                search(number + 1, taken | span, rings + 1, kept + survives)

    everything = [(span, 1) for span in survivors] + [(span, 0) for span in set(candidates)]
    search(0, frozenset(), 0, 0)
    return top


@st.composite
def problems(
    draw: st.DrawFn, make_wiring: Callable[..., Wiring]
) -> tuple[Wiring, int, set[int], set[HopKey], list[Chain], int, set[int]]:
    k = draw(st.integers(1, 4))
    closed = draw(st.booleans())
    size = draw(st.integers(2 * k + 1 if closed else 2, 10))
    wiring = make_wiring(size, k, closed=closed)
    nodes = draw(st.integers(1, min(4, size)))
    down = draw(st.sets(st.integers(0, size - 1), max_size=size // 2))
    dead = draw(st.sets(st.sampled_from(sorted(hop.key for hop in wiring.hops)), max_size=3)) if size > 1 else set()
    chains = every_chain(wiring, nodes)
    existing: list[Chain] = []
    for chain in draw(st.lists(st.sampled_from(chains), max_size=5)) if chains else []:
        if not any(covered(wiring, chain) & covered(wiring, other) for other in existing):
            existing.append(chain)
    wanted = draw(st.integers(1, max(1, len(existing) + 2)))
    free = sorted(set(range(size)) - {p for chain in existing for p in covered(wiring, chain)})
    barred = draw(st.sets(st.sampled_from(free), max_size=3)) if free else set()
    return wiring, nodes, down, dead, existing, wanted, barred


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_most_rings_and_most_survivors(make_wiring, data):
    wiring, nodes, down, dead, existing, wanted, barred = data.draw(problems(make_wiring))
    survivors = [chain for chain in existing if stands(wiring, chain, down, dead)]
    broken = [chain for chain in existing if chain not in survivors]
    terrain = Terrain(
        wiring,
        usable=[position not in down for position in range(wiring.size)],
        barred=[position in barred for position in range(wiring.size)],
        dead_hops=dead,
        tables=[wiring.loopback] * wiring.size,
    )
    plan = plan_rings(terrain, RingRequest(nodes, wanted, tuple(survivors), tuple(broken)))
    candidates = [
        covered(wiring, chain)
        for chain in every_chain(wiring, nodes)
        if stands(wiring, chain, down, dead) and not covered(wiring, chain) & barred
    ]
    assert (plan.rings, len(plan.kept)) == best(candidates, [covered(wiring, c) for c in survivors], wanted)
    assert_is_sound(wiring, plan, down, dead, barred)


def assert_is_sound(wiring: Wiring, plan: RingPlan, down: set[int], dead: set[HopKey], barred: set[int]) -> None:
    for chain in plan.placed:
        assert is_chain(wiring, chain)
        assert stands(wiring, chain, down, dead)
        assert not covered(wiring, chain) & barred
    for one, other in combinations([*plan.kept, *plan.placed], 2):
        assert not covered(wiring, one) & covered(wiring, other)
