"""Light that is there and makes sense is kept, whatever the store remembers; light that makes no ring is let go."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringlight.controller.engine.events import Restored, StoreBegunAnew
from ringlight.controller.engine.records import everything
from ringlight.controller.engine.state import RingState
from ringlight.controller.health.settings import BreakerSettings, HealthSettings
from ringlight.controller.settings import Settings
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.circuits import Path
from ringlight.fabric.rings import chain_tables
from tests.world import World


def chains(world):
    """Every ring that is ACTIVE, whatever it is called: along the order, from its lower end."""
    order = world.engine.state.planner.order
    return sorted(order.forward(ring.chain) for ring in world.engine.state.rings.values() if ring.state == "ACTIVE")


def lose_store(world):
    world.persisted.clear()
    world.restart()


def test_a_lost_store_loses_no_light(world):
    before = chains(world)
    lose_store(world)
    world.advance(30)
    assert chains(world) == before
    assert not world.commands
    job = world.engine.state.jobs["adopted-16"]
    assert (job.rings_wanted, job.tp, job.pinned, job.state) == (2, 16, True, "RUNNING")
    world.assert_light_is_plan()


@given(
    st.integers(1, 3),
    st.booleans(),
    st.lists(st.tuples(st.integers(1, 2), st.integers(2, 5)), min_size=1, max_size=3),
    st.lists(st.integers(0, 23), max_size=3),
)
def test_whatever_was_lit_is_adopted(make_spec, k, closed, jobs, broken):
    """Rings of all sizes, bypasses among them; GPU for GPU."""
    world = World(make_spec(24, k, closed=closed)).start()
    for number, (rings, nodes) in enumerate(jobs):
        world.submit(f"job{number}", rings=rings, tp=4 * nodes, min_rings=1)
    for position in broken:
        world.fail(FaultKind.GPU_LOST, f"n{position}")
    before = chains(world)
    lose_store(world)
    world.advance(30)
    assert chains(world) == before
    world.assert_light_is_plan()


def test_adopted_rings_are_on_record_and_heal(world):
    lose_store(world)
    world.advance(30)
    adopted = world.kinds().count("ring-adopted")
    world.restart()
    world.advance(30)
    assert sorted(world.engine.state.jobs) == ["adopted-16"]
    assert world.kinds().count("ring-adopted") == adopted == 2
    ring = next(iter(world.engine.state.rings.values()))
    victim = world.chain(ring.name)[1]
    world.fail(FaultKind.GPU_LOST, victim)
    assert victim not in world.chain(ring.name)
    assert world.release("adopted-16").error is None
    world.assert_light_is_plan()


def test_an_older_store_gets_to_know_where_its_ring_moved(world):
    """The ring keeps its name; what moved after the copy was made is not moved back."""
    copy = list(world.persisted)
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    moved = world.chain("train/0")
    world.persisted = copy
    world.restart()
    world.advance(30)
    assert world.chain("train/0") == moved
    assert not world.commands
    assert sorted(world.engine.state.jobs) == ["train"]
    world.assert_light_is_plan()


def test_an_older_store_does_not_know_a_job_that_runs(world):
    copy = list(world.persisted)
    world.submit("late", rings=1, tp=12)
    lit = world.chain("late/0")
    world.persisted = copy
    world.restart()
    world.advance(30)
    assert world.chain("adopted-12/0") == lit
    assert not world.commands
    world.assert_light_is_plan()


def test_an_older_store_remembers_a_job_whose_place_another_one_has(world):
    """Light wins: the remembered ring finds another place."""
    copy = list(world.persisted)
    world.release("train")
    world.submit("late", rings=1, tp=32)
    lit = world.chain("late/0")
    assert len(lit) == 8
    world.persisted = copy
    world.restart()
    world.advance(30)
    assert world.chain("adopted-32/0") == lit
    assert not world.commanded() & set(lit)
    assert world.ring("train/0").state is world.ring("train/1").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_what_our_records_say_is_over_is_not_adopted(world):
    """The crash came after the release was on record and before the agents were told."""
    world.deaf = {node.name for node in world.spec.nodes}
    world.release("train")
    world.deaf = set()
    world.restart()
    world.advance(40)
    assert world.engine.state.jobs == {}
    assert {world.plant.table(p) for p in range(16)} == {world.wiring.loopback}


def test_an_agent_that_comes_late_brings_its_ring_along(world):
    late = world.chain("train/1")[2]
    before = chains(world)
    world.persisted.clear()
    world.silent.add(late)
    world.restart()
    world.advance(20)
    assert len(chains(world)) == 1
    world.silent.discard(late)
    world.dial(late)
    world.advance(5)
    assert chains(world) == before
    assert not world.commands


def test_a_ring_with_a_dead_gpu_is_adopted_and_healed(world):
    victim = world.chain("train/0")[1]
    world.pause()
    world.fail(FaultKind.GPU_LOST, victim)
    world.persisted.clear()
    world.restart()
    world.advance(30)
    assert len(chains(world)) == 2
    assert not [ring for ring in world.engine.state.rings if victim in world.chain(ring)]
    world.assert_light_is_plan()


def test_light_that_makes_no_ring_is_let_go_when_all_of_it_was_heard(world):
    """Somebody's chain lost a node: what is left of it serves nobody."""
    chain = world.chain("train/0")
    fault = world.fail(FaultKind.POWER_OFF, chain[0])
    world.persisted.clear()
    world.pause()
    world.persisted.clear()
    world.repair(fault)
    world.restart()
    world.advance(60)
    free = [name for name in chain if not world.engine.state.node(name).ring]
    assert all(world.engine.state.node(name).observed == world.wiring.loopback for name in free)
    world.assert_light_is_plan()


def test_a_store_that_is_lost_while_the_controller_runs_is_written_anew(world):
    world.cordon("n14", reason="fan")
    world.pause("firmware")
    world.fail(FaultKind.GPU_LOST, "n13")
    world.persisted[:] = [everything(world.engine.state)]
    world.handle(StoreBegunAnew("the file was removed", ""))
    assert "store-begun-anew" in world.kinds()
    before = {name: world.chain(name) for name in ("train/0", "train/1")}
    world.restart()
    world.advance(30)
    assert {name: world.chain(name) for name in before} == before
    assert world.overlay("n14") == "cordoned"
    assert world.shut() == {"pause": "firmware"}
    assert world.engine.state.node("n13").failures != []
    assert not world.commands


@pytest.mark.parametrize("lost", [True, False])
def test_generations_go_on_above_what_agents_have_seen(world, lost):
    applied = max(world.applied.values())
    if lost:
        world.persisted.clear()
    world.restart()
    world.advance(20)
    world.commands.clear()
    world.submit("more", rings=1, tp=8)
    assert min(command.generation for command in world.commands) > applied


def test_what_follows_from_a_hello_is_above_what_its_agent_has_seen(world):
    """Found by the simulator: what was parked in the very step of the hello was refused by its agent for ever."""
    world.hang_up("n10")
    world.plant.select(10, 0, Path.PATH_1)
    world.applied["n10"] = 9000
    world.silent.discard("n10")
    world.commands.clear()
    world.dial("n10")
    assert [(command.node, command.generation) for command in world.commands] == [("n10", 9001)]
    assert world.engine.state.generation == 9001


def test_an_empty_fabric_adopts_nothing(make_world):
    world = make_world().start(Restored(epoch=1))
    world.advance(30)
    assert world.engine.state.jobs == {}
    assert "ring-adopted" not in world.kinds()


def test_a_ring_that_was_led_around_a_fault_before_that_was_on_record_is_not_lit_twice(world):
    """The controller died when its commands had left: the new place is lit, and the old one still is."""
    chain = world.chain("train/0")
    world.cordon("n4", "n9", "n15", "n14")  # so that the ring moves as a whole
    world.deaf = set(chain)
    records = list(world.persisted)
    world.fail(FaultKind.GPU_LOST, chain[1])
    moved = world.chain("train/0")
    assert not set(moved) & set(chain)
    world.deaf = set()
    world.persisted = records
    world.restart()
    world.advance(30)
    assert sorted(world.engine.state.jobs) == ["train"]
    assert world.chain("train/0") == moved
    assert {world.plant.table(world.wiring.position(name)) for name in chain} == {world.wiring.loopback}
    world.assert_light_is_plan()


def test_a_change_that_was_cut_off_half_done_is_no_ring_of_another_size(world):
    """Its last node went on to the new one before the first one left: together they are a ring, of five nodes."""
    first, *chain = world.chain("train/0")
    records = list(world.persisted)
    world.deaf = {first, chain[0], chain[1]}
    world.cordon("n14", "n15")  # so that the ring grows at its other end
    world.fail(FaultKind.GPU_LOST, first)
    last = world.chain("train/0")[-1]
    assert last not in chain
    world.deaf = set()
    world.persisted = records
    assert len(world.plant.trace().cycles[0]) > 4 * len(chain)
    world.restart()
    world.advance(30)
    assert sorted(world.engine.state.jobs) == ["train"]
    assert first not in world.chain("train/0")
    world.assert_light_is_plan()


def test_what_agents_will_undo_is_not_adopted(world):
    """A planned change that was never on record: lit and whole, and its agents wait for a confirmation."""
    chain = world.chain("train/0")
    world.cordon("n4", "n9", "n15", "n14")
    records = list(world.persisted)
    world.deaf = set(chain)
    world.drain(chain[1])
    moved = world.chain("train/0")
    world.deaf = set()
    world.persisted = records
    world.unconfirmed = dict.fromkeys(moved, "g2")
    world.commands.clear()
    world.restart()
    world.advance(5)
    assert sorted(world.engine.state.jobs) == ["train"]
    assert world.chain("train/0") == chain
    assert not world.commands


@pytest.mark.parametrize("kind", [FaultKind.GPU_LOST, FaultKind.POWER_OFF])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("member", range(3))
def test_an_older_store_finds_a_ring_that_moved_whatever_it_moved_for(make_world, kind, k, member):
    """Though the node for whose sake it moved is not heard any more, and though it may share no node with its place."""
    world = make_world(nodes=24, k=k, closed=False).start()
    world.submit(rings=3, tp=12, min_rings=1)
    world.submit("other", rings=2, tp=16)
    world.advance(10)
    copy = list(world.persisted)
    world.fail(kind, world.chain("train/0")[member])
    world.advance(15)
    before = {name: world.chain(name) for name in world.engine.state.rings}
    assert world.ring("train/0").state is RingState.ACTIVE
    world.persisted = copy
    world.restart()
    world.advance(40)
    assert {name: world.chain(name) for name in world.engine.state.rings} == before
    assert not world.commands
    world.assert_light_is_plan()


STEPS = st.tuples(
    st.sampled_from(["submit", "release", "resize", "lost", "dark", "repair", "drain", "cordon", "pass", "restart"]),
    st.integers(0, 23),
    st.integers(2, 5),
    st.integers(1, 3),
)


def take(world, broken, step):
    """Something happens, or somebody asks for something."""
    kind, node, length, rings = step
    job, name = f"job{node % 5}", f"n{node}"
    asked = {
        "submit": lambda: world.submit(job, rings=rings, tp=4 * length, min_rings=1),
        "release": lambda: world.release(job),
        "resize": lambda: world.resize(job, rings, 1),
        "lost": lambda: broken.append(world.fail(FaultKind.GPU_LOST, name)),
        "dark": lambda: broken.append(world.fail(FaultKind.POWER_OFF, name)),
        "repair": lambda: broken and world.repair(broken.pop(node % len(broken))),
        "drain": lambda: world.drain(name, force=length > 3),
        "cordon": lambda: (world.cordon if rings > 1 else world.uncordon)(name),
        "pass": lambda: world.advance(12),
        "restart": world.restart,
    }
    asked[kind]()


@settings(max_examples=60)
@given(st.integers(1, 3), st.booleans(), st.lists(STEPS, min_size=1, max_size=8), st.integers(0, 8))
@example(1, True, [("submit", 0, 5, 2), ("submit", 1, 5, 3), ("lost", 2, 2, 1)], 0)  # what it gives up, another wants
def test_however_old_the_store_is_what_is_lit_stays_and_is_not_even_commanded(make_spec, k, closed, steps, age):
    """All rings that were ACTIVE are there afterwards, node for node; what is idle is in loopback; light is plan."""
    sections = {"health": HealthSettings(probation=5.0), "breaker": BreakerSettings(burst=100)}
    world = World(make_spec(24, k, closed=closed), Settings(**sections)).start()
    broken, copies = [], [[]]
    for step in steps:
        take(world, broken, step)
        copies.append(list(world.persisted))
    world.advance(30)  # what is dark is known to be
    before = chains(world)
    world.persisted = copies[max(0, len(steps) - age)]
    world.restart()
    world.commands.clear()
    world.advance(40)
    assert set(before) <= set(chains(world))
    assert not world.commanded() & {world.wiring.name(position) for chain in before for position in chain}
    idle = [node.position for node in world.engine.state.nodes if node.session and not node.ring]
    assert {world.plant.table(position) for position in idle} <= {world.wiring.loopback}
    world.assert_light_is_plan()


def test_a_job_that_took_the_name_of_adopted_rings_keeps_its_own(make_world):
    world = make_world().start()
    world.submit("adopted-16", rings=1, tp=8)
    world.submit("adopted-16-2", rings=1, tp=16)
    copy = list(world.persisted)
    world.submit()
    before = sorted(world.chain(ring) for ring in world.engine.state.rings)
    world.persisted = copy
    world.restart()
    world.advance(30)
    assert sorted(world.chain(ring) for ring in world.engine.state.rings) == before
    jobs = {name: (job.tp, job.rings_wanted) for name, job in world.engine.state.jobs.items()}
    assert jobs == {"adopted-16": (8, 1), "adopted-16-2": (16, 1), "adopted-16-3": (16, 2)}


def test_an_adopted_ring_takes_no_rank_that_is_taken(make_world):
    """Rank 0 was lost and given up; then the agent dials in that has kept a whole ring from being known."""
    world = make_world(nodes=20).start()
    world.submit(rings=3, tp=16)
    late, chain = world.chain("train/2")[0], world.chain("train/2")
    world.persisted.clear()
    world.silent.add(late)
    world.restart()
    world.advance(30)
    kept = world.chain("adopted-16/1")
    world.cordon(*(node.name for node in world.engine.state.nodes if not node.ring))
    world.fail(FaultKind.GPU_LOST, world.chain("adopted-16/0")[1])
    assert world.resize("adopted-16", 1, 1).error is None
    assert sorted(world.engine.state.rings) == ["adopted-16/1"]
    world.silent.discard(late)
    world.dial(late)
    world.advance(5)
    assert sorted(world.chain(ring) for ring in world.engine.state.rings) == sorted([kept, chain])
    assert [ring.name for ring in world.engine.state.jobs["adopted-16"].rings] == ["adopted-16/0", "adopted-16/1"]


def light_up(world, positions):
    """Somebody else lays a chain."""
    for position, table in chain_tables(world.wiring, positions).items():
        for bundle, path in enumerate(table):
            world.plant.select(position, bundle, path)


def test_a_chain_across_a_ring_of_ours_is_told_and_left_alone(make_world):
    """n1 and n3 are joined over n2, which is in the ring of n0 and n2."""
    world = make_world(nodes=4, closed=False).start()
    world.cordon("n1", "n3")
    assert world.submit(rings=1, tp=8).error is None
    assert world.chain("train/0") == ["n0", "n2"]
    light_up(world, (1, 3))
    world.restart()
    world.advance(60)
    assert not world.commands
    assert list(world.engine.state.rings) == ["train/0"]
    assert any(event.kind == "drift" and "across another ring" in event.text for event in world.told)
    world.uncordon("n1", "n3")
    assert world.submit("more", rings=1, tp=4).error is not None, "hands off what is lit"


def test_what_somebody_else_lit_is_adopted_as_it_is(make_world):
    world = make_world(nodes=8)
    light_up(world, (1, 3, 4))
    world.start()
    world.advance(30)
    assert world.chain("adopted-12/0") == ["n1", "n3", "n4"]
    assert not world.commands
    assert world.release("adopted-12").error is None
    assert {world.plant.table(position) for position in range(8)} == {world.wiring.loopback}


@pytest.mark.parametrize("missing", range(4))
def test_a_chain_that_is_not_all_there_is_no_ring(make_world, missing):
    """One of its nodes is in loopback: the others are let go, in time."""
    world = make_world(nodes=8)
    light_up(world, (1, 2, 3, 4))
    for bundle in range(world.wiring.bundles):
        world.plant.select(missing + 1, bundle, world.wiring.loopback[bundle])
    world.start()
    world.advance(60)
    assert world.engine.state.jobs == {}
    assert {world.plant.table(position) for position in range(8)} == {world.wiring.loopback}


def test_light_that_comes_to_be_known_late_is_not_taken_for_a_ring_that_is_being_laid(make_world):
    """Only one that nobody has begun to change can be elsewhere."""
    world = make_world(nodes=24)
    strangers = (20, 21, 22, 23)
    light_up(world, strangers)
    world.silent = {f"n{position}" for position in strangers}
    world.start()
    world.advance(15)
    world.deaf = {node.name for node in world.spec.nodes}
    world.submit(rings=1, tp=16)
    chain = world.chain("train/0")
    world.silent.clear()
    for position in strangers:
        world.dial(f"n{position}")
    assert world.ring("train/0").state is RingState.SWITCHING
    assert world.chain("train/0") == chain
    assert world.chain("adopted-16/0") == [f"n{position}" for position in strangers]


def test_a_ring_of_which_something_is_left_is_not_taken_for_another_one_elsewhere(make_world):
    """One of its nodes lost power while nobody looked: it is broken where it is, and the strangers are strangers."""
    world = make_world(nodes=24).start()
    world.submit(rings=1, tp=16)
    victim = world.chain("train/0")[1]
    world.advance(5)
    for bundle in range(world.wiring.bundles):
        world.plant.select(world.wiring.position(victim), bundle, world.wiring.loopback[bundle])
    light_up(world, (20, 21, 22, 23))
    world.restart()
    world.advance(30)
    assert world.chain("adopted-16/0") == ["n20", "n21", "n22", "n23"]
    assert world.ring("train/0").state is RingState.ACTIVE
    assert not world.commanded() & set(world.chain("adopted-16/0"))
    world.assert_light_is_plan()
