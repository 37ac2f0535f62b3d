"""A controller that starts, or starts again, changes no circuit by doing so (I6)."""

from hypothesis import assume, given
from hypothesis import strategies as st

from ringlight.controller.engine.events import Applied
from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.fabric.outcomes import ApplyCode
from tests.world import World


def test_a_restarted_controller_commands_nothing_and_finds_its_rings(world):
    chains = {name: world.chain(name) for name in world.engine.state.rings}
    world.restart()
    world.advance(60)
    assert not world.commands
    assert {name: world.chain(name) for name in chains} == chains
    assert all(ring.state is RingState.ACTIVE for ring in world.engine.state.rings.values())
    world.assert_light_is_plan()


def test_a_fault_that_happened_while_the_controller_was_away_is_healed(world):
    victim = world.chain("train/0")[1]
    world.plant.inject(FaultRequest(FaultKind.GPU_LOST, victim))
    world.restart()
    world.advance(1)
    assert victim not in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_power_lost_while_the_controller_was_away_is_found_after_the_grace_period(world):
    victim = world.chain("train/0")[1]
    world.silent.add(victim)
    world.sessions.pop(victim)
    world.plant.inject(FaultRequest(FaultKind.POWER_OFF, victim))
    world.restart()
    world.advance(9)
    assert victim in world.chain("train/0")
    world.advance(10)
    assert victim not in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_controller_that_no_agent_dials_does_nothing(world):
    world.silent = {node.name for node in world.spec.nodes}
    world.restart()
    world.advance(120)
    assert not world.commands


def test_a_change_that_was_cut_off_is_finished(world):
    world.deaf = {world.chain("train/0")[2]}
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1], gpu=0)
    assert world.ring("train/0").state is RingState.SWITCHING
    world.deaf = set()
    world.restart()
    world.advance(30)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_lost_store_silences_nobody(world):
    """Agents obey no lower epoch or generation than they have seen, so the new controller takes higher ones."""
    world.persisted.clear()
    world.epochs = dict.fromkeys(world.epochs, 7)
    applied = max(world.applied.values())
    world.restart()
    world.advance(60)
    assert not world.commands
    assert world.engine.state.epoch > 7
    assert world.engine.state.generation >= applied


def test_circuits_that_no_ring_of_ours_asks_for_are_not_taken_apart(world):
    lit = set(world.chain("train/0")) | set(world.chain("train/1"))
    world.persisted.clear()
    world.restart()
    world.advance(30)
    world.submit("other", rings=1, tp=16)
    assert not set(world.chain("other/0")) & lit
    for name in sorted(lit):
        world.dial(name)
    assert not world.commanded() & lit


def test_a_change_that_was_never_confirmed_is_confirmed_by_the_next_controller(world):
    """The former one proved the ring and died before it could say so; agents would undo it."""
    world.unconfirmed = dict.fromkeys(world.chain("train/0"), "g1")
    world.confirms.clear()
    world.restart()
    assert {confirm.node: confirm.transaction for confirm in world.confirms} == world.unconfirmed
    assert not world.commands


@given(st.integers(1, 3), st.booleans(), st.data())
def test_a_planned_change_that_was_cut_off_before_it_was_on_record_undoes_itself(make_spec, k, closed, data):
    """Its agents return to where the records say that the rings are: nobody else moves, and nobody is told anything."""
    world = World(make_spec(24, k, closed=closed)).start()
    world.submit(rings=3, tp=16)
    for position in data.draw(st.lists(st.integers(0, 23), max_size=2, unique=True), "broken"):
        world.fail(FaultKind.GPU_LOST, f"n{position}")
    before = {name: world.chain(name) for name in sorted(world.engine.state.rings)}
    assume(all(ring.state is RingState.ACTIVE for ring in world.engine.state.rings.values()))
    records = list(world.persisted)
    world.deaf = {node.name for node in world.spec.nodes}
    world.commands.clear()
    world.drain(data.draw(st.sampled_from([name for chain in before.values() for name in chain]), "drained"))
    carried_out = data.draw(st.permutations(world.commands), "commands")
    world.deaf = set()
    world.persisted = records
    world.carry_out_unheard(carried_out[data.draw(st.integers(0, len(carried_out)), "of them not") :])
    world.restart()
    world.advance(40)
    assert {name: world.chain(name) for name in sorted(world.engine.state.rings)} == before
    assert all(ring.state is RingState.ACTIVE for ring in world.engine.state.rings.values())
    assert not world.commands
    world.assert_light_is_plan()


def test_a_confirmation_that_was_lost_with_its_session_is_repeated(world):
    name = world.chain("train/0")[1]
    world.hang_up(name)
    world.silent.clear()
    world.unconfirmed = {name: "g1"}
    world.confirms.clear()
    world.dial(name)
    assert [(confirm.node, confirm.transaction) for confirm in world.confirms] == [(name, "g1")]


def test_a_fault_found_while_agents_still_dial_in_moves_no_other_ring_and_loses_none(world):
    """The spare it needs is there, and only has not said so yet."""
    victim, other = world.chain("train/0")[1], world.chain("train/1")
    world.plant.inject(FaultRequest(FaultKind.GPU_LOST, victim))
    told = len(world.told)
    world.restart()
    world.settle()
    broken = [event.text for event in world.told[told:] if event.kind == "ring-broken"]
    assert all("left so: agents are still dialling in" in text for text in broken)
    assert world.chain("train/1") == other
    assert not world.commanded() & set(other)
    assert world.ring("train/0").state is RingState.ACTIVE
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()


def test_a_fault_found_while_agents_still_dial_in_is_healed_at_once_if_its_spare_is_there(world):
    """A spare that dialled in already is enough: nobody waits for agents that have nothing to do with it."""
    chain = world.chain("train/0")
    world.plant.inject(FaultRequest(FaultKind.GPU_LOST, chain[1]))
    world.silent = {node.name for node in world.spec.nodes} - set(chain) - {"n4"}
    world.restart()
    world.settle()
    assert world.chain("train/0") == ["n0", "n2", "n3", "n4"]
    assert world.ring("train/0").state is RingState.ACTIVE


def test_an_answer_to_a_command_of_the_former_controller_is_no_answer_to_ours(world):
    """It has the generation that is on record, and another epoch."""
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    old = world.commands[-1]
    world.restart()
    world.advance(20)
    chain = world.chain("train/0")
    position = world.wiring.position(old.node)
    world.handle(
        Applied(
            world.sessions[old.node],
            old.node,
            old.transaction,
            old.epoch,
            old.generation,
            ApplyCode.STALE_EPOCH,
            {},
            world.plant.table(position),
            {},
        )
    )
    world.advance(5)
    assert not world.engine.state.node(old.node).unanswered
    assert world.chain("train/0") == chain
    assert not world.commands


def test_a_ring_that_waits_for_agents_to_dial_in_is_not_called_active(world):
    """One of its nodes selects something else since the restart; what to do shows only when everybody was heard."""
    victim = world.chain("train/0")[1]
    position = world.wiring.position(victim)
    for bundle in range(world.wiring.bundles):
        world.plant.select(position, bundle, world.wiring.loopback[bundle])
    world.silent.add("n15")
    world.restart()
    world.settle()
    assert world.ring("train/0").state is not RingState.ACTIVE
    world.advance(20)
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_whom_the_former_controller_told_owes_the_next_one_no_answer(world):
    """It did as told, and is not heard any more: its silence says nothing of it (I7)."""
    world.deaf = {node.name for node in world.spec.nodes} - set(world.chain("train/0"))
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[1])
    (name,) = set(world.chain("train/0")) & world.deaf
    told = [command for command in world.commands if command.node == name][-1]
    for bundle, path in enumerate(told.table):
        world.plant.select(world.wiring.position(name), bundle, path)
    chain = world.chain("train/0")
    world.hang_up(name)
    world.deaf = set()
    world.restart()
    world.advance(60)
    assert world.verdict(name) == "UNREACHABLE"
    assert world.chain("train/0") == chain
    assert not world.commands


def test_a_fibre_that_was_dark_is_dark_after_a_restart(make_world):
    """Nothing selects it any more, so nothing shows it: forgotten, a working ring would be moved onto it."""
    world = make_world(nodes=7, k=1, closed=False).start()
    world.submit("train", rings=2, tp=12, min_rings=1)
    world.advance(10)
    for hop in ("n0", "n5"):
        world.fail(FaultKind.FIBRE_CUT, hop, distance=1)
        world.advance(10)
    before = [world.chain(name) for name in ("train/0", "train/1")]
    world.restart()
    world.advance(30)
    assert [world.chain(name) for name in ("train/0", "train/1")] == before
    assert not world.commands
    assert RingState.ACTIVE in {ring.state for ring in world.engine.state.rings.values()}


def test_a_fibre_that_was_dark_before_a_restart_is_tried_again_in_its_time_and_forgotten_when_lit(make_world):
    world = make_world(nodes=7, k=1, closed=False).start()
    world.submit("train", rings=1, tp=28)
    world.advance(10)
    cut = world.fail(FaultKind.FIBRE_CUT, "n0", distance=1)
    world.advance(10)
    world.repair(cut)
    retest = world.settings.health.dead_hop_retest
    world.advance(retest / 2, step=60)
    world.restart()
    world.advance(retest / 2 - 30, step=60)
    assert "hop-retest" not in world.kinds()
    world.advance(60)
    assert world.kinds().count("hop-retest") == 1
    assert world.ring("train/0").state is RingState.ACTIVE
    world.restart()
    world.advance(10)
    assert not world.engine.state.dead_hops
