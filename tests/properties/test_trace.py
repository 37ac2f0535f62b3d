"""The oracle on random fabrics: what ring geometry plans is what light does, and no GPU is lost or seen twice."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ringlight.fabric.circuits import EXTERNAL_PATHS, CircuitTable, Path
from ringlight.fabric.rings import chain_hops, chain_tables, gpu_order
from ringlight.fabric.spec import (
    BundleSpec,
    FabricSpec,
    NodeSpec,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
    nearest_distances,
)
from ringlight.fabric.trace import Trace, canonical_cycle, trace
from ringlight.fabric.wiring import Wiring

_PORTS_OF = {bundles: [(bundle, path) for bundle in range(bundles) for path in EXTERNAL_PATHS] for bundles in (2, 3, 4)}

LARGEST = 18  # nodes

# As often 1..K, which most fabrics have, as anything else.
distance_sets = st.integers(1, 4).map(nearest_distances) | st.sets(
    st.integers(1, (LARGEST - 1) // 2), min_size=1, max_size=4
).map(lambda distances: tuple(sorted(distances)))


@st.composite
def wirings(draw: st.DrawFn, *, least: int = 1) -> Wiring:
    """Any fabric: any hop distances, default or own edges and port map, perhaps with fibres that were never laid."""
    distances = draw(distance_sets)
    k = len(distances)
    bundles = max(2, k)
    gpus = draw(st.integers(bundles, 8))
    closed = draw(st.booleans())
    nodes = draw(st.integers(max(least, 2 * distances[-1] + 1) if closed else least, LARGEST))
    edges = draw(st.none() | st.permutations(range(gpus)))
    offsets = default_port_map(distances)
    if draw(st.booleans()):
        cabled = draw(st.sets(st.sampled_from(distances), min_size=1))
        signed = [sign * distance for distance in sorted(cabled) for sign in (1, -1)]
        offsets = dict(zip(draw(st.permutations(_PORTS_OF[bundles])), signed, strict=False))
    fibres = fibres_of_port_map(offsets, nodes, closed=closed)
    unlaid = draw(st.sets(st.integers(0, max(0, len(fibres) - 1)), max_size=3))
    return Wiring(
        FabricSpec(
            name="any",
            distances=distances,
            closed=closed,
            gpus=gpus,
            bundles=default_bundles(k, gpus) if edges is None else tuple(BundleSpec(edge) for edge in edges[:bundles]),
            nodes=tuple(NodeSpec(f"n{position}") for position in range(nodes)),
            fibres=tuple(fibre for number, fibre in enumerate(fibres) if number not in unlaid),
        )
    )


def any_tables(wiring: Wiring) -> st.SearchStrategy[list[CircuitTable]]:
    table = st.tuples(*[st.sampled_from(Path)] * wiring.bundles)
    return st.lists(table, min_size=wiring.size, max_size=wiring.size)


@st.composite
def chains(draw: st.DrawFn, wiring: Wiring, *, shortest: int) -> tuple[int, ...]:
    """A walk over fibres, forwards and backwards, that leaves each node by another bundle and meets none twice."""
    chain = [draw(st.integers(0, wiring.size - 1))]
    entered: int | None = None
    for _ in range(draw(st.integers(shortest - 1, wiring.size - 1))):
        ways = [
            (port, peer)
            for port in wiring.ports(chain[-1])
            if port.bundle != entered and (peer := wiring.peer(port)) is not None and peer.position not in chain
        ]
        if not ways:
            break
        _, peer = draw(st.sampled_from(ways))
        chain.append(peer.position)
        entered = peer.bundle
    return tuple(chain)


@st.composite
def lit_chains(draw: st.DrawFn, *, shortest: int = 1) -> tuple[Wiring, tuple[int, ...], list[CircuitTable]]:
    """A fabric, a chain, and tables: the chain's on its nodes, anything elsewhere."""
    wiring = draw(wirings(least=shortest))
    chain = draw(chains(wiring, shortest=shortest))
    assume(len(chain) >= shortest)
    tables = draw(any_tables(wiring))
    for position, table in chain_tables(wiring, chain).items():
        tables[position] = table
    return wiring, chain, tables


def cycles_touching(found: Trace, chain: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    return [cycle for cycle in found.cycles if any(position in chain for position, _ in cycle)]


@given(lit_chains())
def test_a_chain_is_one_cycle_in_the_planned_order_whatever_the_others_do(case):
    wiring, chain, tables = case
    [cycle] = cycles_touching(trace(wiring, tables), chain)
    assert len(cycle) == len(chain) * wiring.spec.gpus
    assert {position for position, _ in cycle} == set(chain)
    assert canonical_cycle(cycle) == canonical_cycle(gpu_order(wiring, chain))


@given(lit_chains())
def test_a_chain_and_its_reverse_are_the_same_cycle(case):
    wiring, chain, _ = case
    assert chain_tables(wiring, chain) == chain_tables(wiring, chain[::-1])
    forward, backward = gpu_order(wiring, chain), gpu_order(wiring, chain[::-1])
    assert canonical_cycle(forward) == canonical_cycle(backward)
    assert (forward[0][0], backward[0][0]) == (chain[0], chain[-1])


@given(lit_chains())
def test_the_tables_of_a_chain_are_accepted_and_both_ends_agree(case):
    wiring, chain, tables = case
    assert all(wiring.accepts(position, tables[position]) for position in chain)
    selected = {
        (position, bundle): path
        for position in chain
        for bundle, path in enumerate(tables[position])
        if path in EXTERNAL_PATHS
    }
    ends = [port for hop in chain_hops(wiring, chain) for port in (hop.low, hop.high)]
    assert selected == {(port.position, port.bundle): port.path for port in ends}
    assert len(selected) == len(ends) == 2 * (len(chain) - 1)


@given(wirings())
def test_in_loopback_every_node_is_a_cycle_of_its_own(wiring):
    found = trace(wiring, [wiring.loopback] * wiring.size)
    alone = [tuple((position, gpu) for gpu in range(wiring.spec.gpus)) for position in range(wiring.size)]
    assert found == Trace(cycles=tuple(alone), dangling=())


@given(st.data())
def test_every_gpu_with_power_is_found_exactly_once(data):
    wiring = data.draw(wirings())
    tables = data.draw(any_tables(wiring))
    positions = st.integers(0, wiring.size - 1)
    dead_nodes = data.draw(st.sets(positions))
    hops = [hop.key for hop in wiring.hops]
    dead_fibres = data.draw(st.sets(st.sampled_from(hops))) if hops else set()
    dead_bundles = data.draw(st.sets(st.tuples(positions, st.integers(0, wiring.bundles - 1))))
    found = trace(wiring, tables, dead_nodes=dead_nodes, dead_fibres=dead_fibres, dead_bundles=dead_bundles)
    seen = sorted(gpu for path in (*found.cycles, *found.dangling) for gpu in path)
    assert seen == [
        (position, gpu)
        for position in range(wiring.size)
        if position not in dead_nodes
        for gpu in range(wiring.spec.gpus)
    ]
    assert all(cycle[0] == min(cycle) for cycle in found.cycles)


@given(st.data())
def test_losing_anything_a_chain_uses_breaks_its_cycle(data):
    wiring, chain, tables = data.draw(lit_chains(shortest=2))
    hops = chain_hops(wiring, chain)
    used = [(port.position, port.bundle) for hop in hops for port in (hop.low, hop.high)]
    kind, lost = data.draw(
        st.sampled_from(
            [
                *(("dead_fibres", hop.key) for hop in hops),
                *(("dead_bundles", bundle) for bundle in used),
                *(("dead_nodes", position) for position in chain),
            ]
        )
    )
    found = trace(wiring, tables, **{kind: {lost}})
    # The chain was one cycle: opened anywhere, nothing of it is closed any more.
    assert cycles_touching(found, chain) == []
    dangling = {gpu for path in found.dangling for gpu in path}
    left = [position for position in chain if (kind, lost) != ("dead_nodes", position)]
    assert {(position, gpu) for position in left for gpu in range(wiring.spec.gpus)} <= dangling


@given(st.data())
def test_losing_what_a_chain_does_not_use_changes_nothing_for_it(data):
    wiring, chain, tables = data.draw(lit_chains())
    used = {hop.key for hop in chain_hops(wiring, chain)}
    others = sorted(set(range(wiring.size)) - set(chain))
    found = trace(
        wiring,
        tables,
        dead_nodes=data.draw(st.sets(st.sampled_from(others))) if others else set(),
        dead_fibres={hop.key for hop in wiring.hops if hop.key not in used},
        dead_bundles={(position, bundle) for position in others for bundle in range(wiring.bundles)},
    )
    [cycle] = cycles_touching(found, chain)
    assert canonical_cycle(cycle) == canonical_cycle(gpu_order(wiring, chain))


@given(lit_chains(), st.randoms(use_true_random=False))
def test_a_cycle_is_written_alike_wherever_and_whichever_way_it_begins(case, random):
    wiring, chain, _ = case
    order = gpu_order(wiring, chain)
    start = random.randrange(len(order))
    turned = order[start:] + order[:start]
    assert canonical_cycle(turned) == canonical_cycle(turned[::-1]) == canonical_cycle(order)


def test_the_chains_that_are_tried_are_worth_trying():
    """The strategy reaches both directions, bypasses, wrapping and distances past K; or the properties say little."""
    seen: set[str] = set()

    @settings(derandomize=True, database=None)  # the same tries in every run
    @given(lit_chains(shortest=3))
    def look(case):
        wiring, chain, _ = case
        for position, hop in zip(chain, chain_hops(wiring, chain), strict=False):
            seen.add("forwards" if hop.low.position == position else "backwards")
            seen.add("bypass" if hop.key.distance > 1 else "neighbour")
            if hop.key.distance > wiring.spec.k:
                seen.add("beyond k")
            if hop.high.position < hop.low.position:
                seen.add("wraps")

    look()
    assert seen == {"forwards", "backwards", "bypass", "neighbour", "beyond k", "wraps"}
