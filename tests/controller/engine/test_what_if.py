"""What would be done: foretold is what then happens, and asking changes nothing."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.controller.engine.assessment import kill_hop
from ringlight.controller.engine.events import Restored, Tick
from ringlight.controller.engine.faults import open_fault
from ringlight.controller.engine.state import JobState, RingState
from ringlight.controller.engine.what_if import WhatIf, what_if
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.circuits import Fault, FaultClass
from ringlight.fabric.errors import NotFoundError
from tests.world import World

_NOT_COPIED = {"wiring", "settings", "planner", "agenda", "history"}


def everything(world):
    """All that the engine remembers, and all that it let out so far."""
    state = world.engine.state
    order = state.planner.order
    positions = range(order.size)
    return (
        copy.deepcopy({name: value for name, value in vars(state).items() if name not in _NOT_COPIED}),
        bytes(order.usable),
        [bytes(row) for row in order.live],
        [[bool(marks[position]) for position in positions] for marks in (order.idle, order.covered, order.heads)],
        {job: list(order.chains_of(job)) for job in order.jobs},
        list(order.gaps()),
        state.agenda.next,
        {node.name: state.history.about(node.name) for node in state.nodes},
        [len(each) for each in (world.commands, world.told, world.persisted, world.confirms)],
    )


def ask(world, *failed, dark=()):
    """Ask, and see to it that nothing changed by that."""
    before = everything(world)
    foretold = what_if(world.engine.state, WhatIf(failed, tuple(dark)), world.now)
    assert everything(world) == before
    return foretold


def chains(foretold):
    """The chains of rings that would change."""
    return {ring.change.ring: list(ring.change.chain) for job in foretold.jobs for ring in job.changes}


def happen(world, failed, dark):
    """Nodes fail and hops go dark in one step of the engine."""
    state = world.engine.state
    for name in failed:
        node = state.node(name)
        open_fault(state, node, Fault("f", "gpu0", FaultClass.FATAL, "gpu-lost"), world.now)
        state.dirty_nodes.add(node.position)
    for name in dark:
        hop = state.wiring.hop(*_key(state, name))
        kill_hop(state, hop, "cut", world.now)
        state.dirty_rings.update(state.rings)
    world.handle(Tick())


def _key(state, name):
    key = state.wiring.parse_hop(name)
    return key.position, key.distance


def hop_of(world, ring, index=0):
    return world.wiring.hop_name(world.ring(ring).hops[index].key)


def test_a_fault_is_answered_as_foretold(world):
    before = world.chain("train/0")
    victim = before[1]
    tables = {node.name: node.desired for node in world.engine.state.nodes}
    (job,) = (foretold := ask(world, victim)).jobs
    (ring,) = job.changes
    assert (job.name, job.state, job.rings_now, job.rings) == ("train", JobState.RUNNING, 2, 2)
    assert (job.rings_wanted, job.min_rings) == (2, 2)
    assert (ring.change.ring, list(ring.change.former)) == ("train/0", before)
    assert ring.cause == f"{victim} failed: as supposed"
    assert ring.reasons
    assert not foretold.reasons
    world.fail(FaultKind.GPU_XID, victim)
    assert world.chain("train/0") == list(ring.change.chain)
    switched = sum(
        now is not then
        for node in world.engine.state.nodes
        if node.name != victim
        for now, then in zip(node.desired, tables[node.name], strict=True)
    )
    assert job.bundles == switched > 0


def test_a_dark_hop_is_answered_as_foretold(world):
    hop = hop_of(world, "train/1", 1)
    (job,) = ask(world, dark=[hop]).jobs
    (ring,) = job.changes
    assert ring.cause == f"hop {hop} is dark"
    node, _, distance = hop.partition("+")
    world.fail(FaultKind.FIBRE_CUT, node, distance=int(distance))
    world.advance(2)
    assert hop in map(world.wiring.hop_name, world.engine.state.dead_hops)
    assert world.chain("train/1") == list(ring.change.chain)


@settings(max_examples=200)
@given(data=st.data())
def test_whatever_fails_at_once_is_answered_as_foretold(make_world_anew, data):
    draw = data.draw
    closed = draw(st.booleans())
    world = make_world_anew(draw(st.integers(12, 18)), draw(st.integers(1, 3)), closed=closed).start()
    for name, nodes in (("low", 2), ("high", 3)):
        world.submit(name, draw(st.integers(1, 3)), 4 * nodes, min_rings=1, priority=nodes, pinned=draw(st.booleans()))
    names = [node.name for node in world.engine.state.nodes]
    hops = [world.wiring.hop_name(hop.key) for hop in world.wiring.hops]
    for name in draw(st.lists(st.sampled_from(names), max_size=2)):
        world.cordon(name)
    if draw(st.booleans()):
        world.fail(FaultKind.GPU_XID, draw(st.sampled_from(names)))
    world.settle()
    world.now += 0.01  # no job is planned twice in a moment
    failed = draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
    dark = draw(st.lists(st.sampled_from(hops), max_size=3, unique=True))
    foretold = ask(world, *failed, dark=dark)
    hit = [
        job
        for job in foretold.jobs
        if any(ring.change.former and not ring.cause.startswith("makes room") for ring in job.changes)
    ]
    expected = {ring.name: world.chain(ring.name) for ring in world.engine.state.rings.values()}
    expected |= {ring.change.ring: list(ring.change.chain) for job in hit for ring in job.changes}
    world.deaf = set(names)  # what was planned is looked at, before any answer leads on from there
    fresh = [name for name in failed if world.verdict(name) != "FAILED"]
    happen(world, fresh, dark)
    assert {name: world.chain(name) for name in expected} == expected


@pytest.fixture(scope="module")
def make_world_anew(make_spec):
    """Hypothesis makes many worlds in one test."""
    return lambda nodes, k, closed: World(make_spec(nodes, k, closed=closed))


def test_two_faults_at_once_are_one_plan(make_world):
    world = make_world(nodes=9).start()
    world.submit(min_rings=1)
    spare = next(node.name for node in world.engine.state.nodes if not node.ring)
    one, two = world.chain("train/0")[1], world.chain("train/1")[2]
    assert [job.rings for job in ask(world, one).jobs] == [2]
    (job,) = ask(world, one, two).jobs
    assert (job.rings_now, job.rings, job.state) == (2, 1, JobState.DEGRADED)
    assert "no room for 1 more ring" in job.reasons[-1]
    (job,) = ask(world, one, spare).jobs
    assert (job.rings, job.state) == (1, JobState.DEGRADED)
    assert chains(ask(world, one, spare)) == {"train/0": []}


def test_a_job_below_its_minimum_would_wait(make_world):
    world = make_world(nodes=8).start()
    world.submit()
    (job,) = ask(world, world.chain("train/0")[0]).jobs
    assert (job.state, job.rings, job.min_rings) == (JobState.WAITING, 1, 2)


def test_the_job_of_higher_priority_gets_the_spare(make_world):
    world = make_world(nodes=9).start()
    world.submit("low", 1, 16)
    world.submit("high", 1, 16, priority=5)
    foretold = ask(world, world.chain("low/0")[0], world.chain("high/0")[3])
    assert [(job.name, job.rings) for job in foretold.jobs] == [("high", 1), ("low", 0)]


def test_what_a_lost_ring_leaves_goes_to_one_that_waits(make_world):
    world = make_world(nodes=13, closed=False).start()
    world.submit("big", 1, 32)
    world.submit("small", 3, 8, min_rings=1)
    victim = world.chain("big/0")[4]
    foretold = ask(world, victim)
    assert [(job.name, job.state) for job in foretold.jobs] == [("big", JobState.WAITING), ("small", JobState.RUNNING)]
    assert foretold.jobs[1].changes[0].cause == "waited for room"
    world.fail(FaultKind.GPU_XID, victim)
    assert {name: world.chain(name) for name in chains(foretold)} == chains(foretold)


def test_rings_that_move_to_make_room_say_so(make_world):
    world = make_world(nodes=9, closed=False).start()
    world.submit()
    (job,) = ask(world, world.chain("train/0")[1]).jobs
    causes = {ring.change.ring: ring.cause for ring in job.changes}
    assert causes["train/1"] == "makes room for another ring"
    assert any("otherwise a ring would be lost" in reason for reason in job.reasons)


def test_nothing_is_due_in_a_fabric_that_is_well(world):
    foretold = ask(world)
    assert not foretold.jobs
    assert not foretold.reasons


def test_a_ring_that_waits_is_shown_with_what_is_missing(make_world):
    world = make_world(nodes=8).start()
    world.submit(min_rings=1)
    world.fail(FaultKind.GPU_XID, world.chain("train/0")[1])
    (job,) = ask(world).jobs
    assert (job.name, job.rings_now, job.rings, job.changes) == ("train", 1, 1, ())
    assert "no room for 1 more ring of 4 nodes" in job.reasons[0]


def test_what_changes_nothing_is_said(world):
    dead = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_XID, dead)
    taken = world.chain("train/0")
    idle = next(node.name for node in world.engine.state.nodes if not node.ring and node.name != dead)
    unused = next(
        world.wiring.hop_name(hop.key)
        for hop in world.wiring.hops
        if not any(hop in ring.hops for ring in world.engine.state.rings.values())
    )
    foretold = ask(world, dead, idle, dark=[unused])
    assert not foretold.jobs
    assert sorted(foretold.reasons) == sorted(
        [f"{dead} has failed already", f"{idle} is in no ring", f"{unused} is in no ring"]
    )
    assert world.chain("train/0") == taken
    hop = hop_of(world, "train/0")
    node, _, distance = hop.partition("+")
    world.fail(FaultKind.FIBRE_CUT, node, distance=int(distance))
    world.advance(2)
    assert ask(world, dark=[hop]).reasons == (f"{hop} is dark already",)


@pytest.mark.parametrize(("failed", "dark"), [(("n99",), ()), ((), ("n1+9",)), (("n1", "x"), ()), ((), ("n1",))])
def test_an_unknown_name_is_an_error_with_the_known_ones(world, failed, dark):
    before = everything(world)
    with pytest.raises(NotFoundError) as told:
        what_if(world.engine.state, WhatIf(failed, dark), world.now)
    assert "n0" in told.value.hint
    assert everything(world) == before


def test_while_agents_still_dial_in_that_is_said_and_no_ring_that_works_moves(make_world):
    world = make_world(nodes=9, closed=False).start()
    world.submit(min_rings=1)
    victim = world.chain("train/0")[1]
    assert len(chains(ask(world, victim))) == 2
    world.restart()
    absent = world.chain("train/1")[3]
    assert not ask(world).reasons
    world.silent.add(absent)
    world.restart()
    foretold = ask(world, victim)
    assert "not every agent has dialled in" in foretold.reasons[0]
    assert chains(foretold) == {"train/0": []}
    world.fail(FaultKind.GPU_XID, victim)
    assert world.chain("train/1"), "and indeed"


def test_a_controller_that_knows_nobody_yet_can_be_asked(make_world):
    world = make_world()
    world.handle(Restored(epoch=1))
    foretold = ask(world, "n3")
    assert not foretold.jobs
    assert len(foretold.reasons) == 2


def test_a_drain_under_way_would_be_given_up_rather_than_a_ring(make_world):
    world = make_world(nodes=9).start()
    world.submit()
    (spare,) = (node.name for node in world.engine.state.nodes if not node.ring)
    victim = world.chain("train/0")[1]
    world.deaf = {spare}
    world.drain(victim)
    assert world.overlay(victim) == "draining"
    foretold = ask(world, spare)
    assert [job.rings for job in foretold.jobs] == [2]
    assert victim in {name for chain in chains(foretold).values() for name in chain}
    world.fail(FaultKind.GPU_XID, spare)
    assert {name: world.chain(name) for name in chains(foretold)} == chains(foretold)


def test_a_node_that_fell_silent_unjudged_is_not_counted_on_and_asking_judges_nobody(world):
    chain = world.chain("train/0")
    world.now += world.settings.suspect_seconds + 0.1  # nobody was heard since, and no tick came yet
    state = world.engine.state
    assert all(node.usable for node in state.nodes)
    (job,) = ask(world, chain[0]).jobs
    assert job.rings == 1
    assert all(node.usable for node in state.nodes)


def test_rings_in_the_middle_of_a_change_are_foretold_from_there(world):
    world.deaf = set(world.chain("train/0")) | {node.name for node in world.engine.state.nodes if not node.ring}
    first = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_XID, first)
    assert world.ring("train/0").state is RingState.SWITCHING
    second = world.chain("train/0")[2]
    foretold = ask(world, second)
    assert first not in chains(foretold)["train/0"]
    world.fail(FaultKind.GPU_XID, second)
    assert world.chain("train/0") == chains(foretold)["train/0"]


def test_asking_makes_no_later_repair_worse(make_world):
    """What the planner remembers of a supposed fault must not count against the job when nothing of it happened."""
    world = make_world(nodes=12, closed=False).start()
    world.submit("train", 3, 16, min_rings=1)
    fault = world.fail(FaultKind.GPU_XID, world.chain("train/0")[0])
    laid = [node.name for node in world.engine.state.nodes if node.ring]
    (job,) = ask(world, *laid).jobs
    assert (job.rings_now, job.rings) == (2, 0)
    world.repair(fault)
    world.advance(world.settings.health.probation + 1, step=1.0)
    assert world.engine.state.jobs["train"].active == 3
