"""The rules by which bundles share a matrix, for any connections and any wishes."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.polatis.selection import arrives, plan_moves, selected
from ringlight.fabric.circuits import EXTERNAL_PATHS, Path

L, P1, P2, DARK, UNKNOWN = Path.LOOPBACK, Path.PATH_1, Path.PATH_2, Path.DARK, Path.UNKNOWN
PLACES = [(f"n{i}", b) for i in range(8) for b in (0, 1)]

# Any matching of ingresses to egresses, as people and other clients may have left it.
anything = st.permutations(range(17, 33)).flatmap(
    lambda egresses: st.sets(st.integers(1, 16)).map(lambda some: {i: egresses[i - 1] for i in sorted(some)})
)
wishes = st.dictionaries(st.sampled_from(PLACES), st.sampled_from([L, P1, P2]))


@st.composite
def selections(draw):
    """What whole nodes of a sound plan select: each bundle in loopback, or joined with a neighbour that agrees."""
    joined = {}
    for node, bundle in draw(st.permutations(PLACES)):
        if bundle or (node, bundle) in joined or draw(st.booleans()):
            continue
        path = draw(st.sampled_from(EXTERNAL_PATHS))
        peer = (f"n{(int(node[1:]) + (1 if path is P1 else 2)) % 8}", 1)
        if peer not in joined:
            joined |= {(node, bundle): path, peer: path}
    return {place: joined.get(place, L) for place in PLACES}


def _after(connections, moves):
    after = dict(connections)
    for ingress, egress in moves.disconnect.items():
        assert after.pop(ingress) == egress, "only what is there can be removed"
    for ingress, egress in moves.connect.items():
        assert ingress not in after, "what is made must not be in the way of what is there"
        assert egress not in after.values()
        after[ingress] = egress
    return after


def _connections_of(patch, selections):
    return {i: e for place, path in selections.items() for i, e in patch.outward(place, path).items()}


@given(anything, wishes)
def test_moves_can_be_made_and_nothing_is_stolen(patch, connections, wanted):
    moves = plan_moves(patch, connections, wanted)
    after = _after(connections, moves)
    for ingress, egress in moves.disconnect.items():
        assert wanted.keys() & {patch.ingresses[ingress], patch.egresses[egress]}, (
            "only what ends at a bundle that moves"
        )
    for ingress, egress in moves.connect.items():
        sender, listener = patch.ingresses[ingress], patch.egresses[egress]
        assert sender in wanted
        if listener not in wanted:
            selects = selected(patch, listener, after)
            assert selects is DARK or patch.peer(listener, selects) == sender, "nobody hears whom it did not select"
    for place in PLACES:
        if place not in wanted:
            former, present = selected(patch, place, connections), selected(patch, place, after)
            assert present is former or not {patch.peer(place, former), *_peers(patch, place)}.isdisjoint(wanted)


def _peers(patch, place):
    return {patch.peer(place, path) for path in EXTERNAL_PATHS} | set(PLACES)  # unknown light may have gone anywhere


@given(anything, wishes)
def test_who_is_not_taken_selects_what_was_wanted(patch, connections, wanted):
    moves = plan_moves(patch, connections, wanted)
    after = _after(connections, moves)
    for place, path in wanted.items():
        found = selected(patch, place, after)
        assert found is path or (place in moves.taken and moves.taken[place] and found in (DARK, UNKNOWN))
        if path is L:
            assert place not in moves.taken, "a bundle's own receiver is always to be had"


@given(anything, wishes, st.sets(st.integers(1, 32), max_size=6))
def test_a_port_that_is_not_in_order_costs_only_whoever_needs_it(patch, connections, wanted, unusable):
    moves = plan_moves(patch, connections, wanted, unusable=unusable)
    _after(connections, moves)
    assert not unusable.intersection({*moves.connect, *moves.connect.values()})
    others = {place: path for place, path in wanted.items() if place not in moves.barred}
    without = plan_moves(patch, connections, others)
    assert (moves.disconnect, moves.connect, moves.taken) == (without.disconnect, without.connect, without.taken)
    for place, why in moves.barred.items():
        needed = patch.outward(place, wanted[place])
        assert unusable.intersection({*needed, *needed.values()})
        assert "not in order" in why


def test_what_is_connected_already_needs_no_port_in_order(patch):
    assert not plan_moves(patch, {1: 17}, {("n0", 0): L}, unusable={1, 17})
    assert plan_moves(patch, {1: 17}, {("n0", 0): L}, unusable={1, 17}).barred == {}


@given(anything, wishes)
def test_planning_again_moves_nothing_more(patch, connections, wanted):
    after = _after(connections, plan_moves(patch, connections, wanted))
    again = plan_moves(patch, after, wanted)
    assert not again.disconnect
    assert not again.connect


@given(anything, selections())
def test_when_all_are_told_at_once_all_get_there_from_anywhere(patch, connections, wanted):
    moves = plan_moves(patch, connections, wanted)
    assert not moves.taken
    assert _after(connections, moves) == _connections_of(patch, wanted)


@given(selections(), selections(), st.permutations(PLACES))
def test_told_one_after_another_all_get_there_once_everybody_was_told(patch, before, wanted, order):
    """As commands that arrive one by one: whoever must wait is planned again when somebody else was told."""
    connections = _connections_of(patch, before)
    told = {}
    for place in order:
        told[place] = wanted[place]
        connections = _after(connections, plan_moves(patch, connections, told))
    assert connections == _connections_of(patch, wanted)


@given(selections(), selections())
def test_bundles_that_stay_are_never_touched(patch, before, wanted):
    connections = _connections_of(patch, before)
    moving = {place: path for place, path in wanted.items() if before[place] is not path}
    after = _after(connections, plan_moves(patch, connections, moving))
    for place in wanted.keys() - moving.keys():
        kept = patch.outward(place, wanted[place])
        assert kept.items() <= after.items()


def test_light_is_at_both_ends_only_when_both_select(patch):
    one, other = ("n0", 0), ("n1", 1)
    alone = patch.outward(one, P1)
    assert selected(patch, one, alone) is P1
    assert selected(patch, other, alone) is DARK
    assert arrives(patch, other, P1, alone)
    assert not arrives(patch, one, P1, alone)
    both = alone | patch.outward(other, P1)
    assert arrives(patch, one, P1, both)
    assert arrives(patch, other, P1, both)


def test_light_that_goes_astray_is_unknown(patch):
    assert selected(patch, ("n0", 0), {1: 32}) is UNKNOWN


def test_a_stranger_on_our_own_receiver_is_in_our_way_and_one_on_a_neighbours_is_not(patch):
    stranger = {16: 17}  # n7/b1 into n0/b0
    assert plan_moves(patch, stranger, {("n0", 0): L}).disconnect == stranger
    moves = plan_moves(patch, stranger, {("n1", 1): P1})
    assert not moves
    assert moves.taken == {("n1", 1): "egress 17 of n0/b0 is taken by ingress 16, which is of n7/b1"}
