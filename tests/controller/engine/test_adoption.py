"""Light that is there and makes sense is kept, whatever the store remembers; light that makes no ring is let go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.engine.events import Restored, StoreBegunAnew
from ringlight.controller.engine.records import everything
from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind
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
    world.restart()
    world.advance(30)
    assert sorted(world.engine.state.jobs) == ["adopted-16"]
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


def test_an_empty_fabric_adopts_nothing(make_world):
    world = make_world().start(Restored(epoch=1))
    world.advance(30)
    assert world.engine.state.jobs == {}
    assert "ring-adopted" not in world.kinds()
