"""When the controller doubts itself, silence moves nothing; what is said is acted on all the same."""

import pytest

from ringlight.controller.engine.events import BusBack, BusLost, Tick
from ringlight.controller.engine.state import RingState
from ringlight.emulator.faults import FaultKind

HOUR = 3_600.0


def silence_with_darkness(world, ring="train/0"):
    """A node of a ring loses its power: its agent falls silent, and its neighbours lose its light."""
    victim = world.chain(ring)[1]
    world.fail(FaultKind.POWER_OFF, victim)
    return victim


def test_the_gate_is_shut_at_a_start_and_opens_when_everybody_was_heard(world):
    assert world.shut() == {}
    world.silent.add("n15")
    world.restart()
    assert "started a moment ago" in world.shut()["silence"]
    world.silent.clear()
    world.dial("n15")
    assert world.shut() == {}


def test_or_when_the_grace_period_is_over(world):
    world.silent.add("n15")
    world.restart()
    world.advance(9.5)
    assert "silence" in world.shut()
    world.advance(1)
    assert world.shut() == {}


@pytest.mark.parametrize("seconds", [2.5, 30.0, HOUR])
def test_a_stall_is_noticed_before_anything_is_concluded(world, seconds):
    """Silence and darkness come together while the controller stands still: it waits until it is prompt again."""
    world.advance(5)
    victim = silence_with_darkness(world)
    world.stall(seconds)
    world.handle(Tick())
    assert "stood still" in world.shut()["silence"]
    assert world.verdict(victim) != "FAILED"
    world.advance(3)
    assert world.shut() == {}
    world.advance(6)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()


def test_a_stall_takes_nobody_for_dead_who_is_not(world):
    before = {name: world.chain(name) for name in ("train/0", "train/1")}
    world.commands.clear()
    for _ in range(5):
        world.advance(2)
        world.stall(60)
        world.advance(0.1)
    world.advance(20)
    assert {name: world.chain(name) for name in before} == before
    assert not world.commands
    assert {node.verdict.value for node in world.engine.state.nodes} == {"HEALTHY"}


def test_answers_that_came_during_a_stall_are_not_missed(world):
    """A command's time limit passes while the controller stands still: its answer is there, and unread."""
    world.deaf = {node.name for node in world.spec.nodes} - set(world.chain("train/0"))  # the spare among them
    world.commands.clear()
    world.fail(FaultKind.GPU_LOST, world.chain("train/0")[0])
    told = [command for command in world.commands if command.node in world.deaf]
    assert told
    chain = world.chain("train/0")
    world.stall(5)
    world.handle(Tick())
    assert "no-answer" not in world.kinds()
    world.deaf = set()
    for command in told:
        world.answer(command)
    world.advance(3)
    assert world.chain("train/0") == chain
    assert world.ring("train/0").state is RingState.ACTIVE


def test_a_clock_that_goes_back_decides_nothing(world):
    world.advance(10)
    now = world.now
    world.now -= 7
    world.handle(Tick())
    assert "went back" in world.shut()["silence"]
    world.now = now
    world.advance(10)
    assert world.shut() == {}
    assert {node.verdict.value for node in world.engine.state.nodes} == {"HEALTHY"}


def test_when_most_fall_silent_it_is_us_who_are_deaf(world):
    """Even if light goes at the same time; and afterwards silence is counted anew."""
    world.advance(5)
    world.commands.clear()
    victim = silence_with_darkness(world)
    for node in world.spec.nodes[:9]:
        if node.name != victim and node.name in world.sessions:
            world.hang_up(node.name)
    world.advance(60)
    assert "known nodes speak" in world.shut()["silence"]
    assert not world.commands
    for node in world.spec.nodes:
        if node.name in world.silent and node.name != victim:
            world.silent.discard(node.name)
            world.dial(node.name)
    world.advance(4)
    assert world.shut() == {}
    assert world.verdict(victim) != "FAILED"
    world.advance(3)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")


def test_what_is_said_is_acted_on_even_while_the_gate_is_shut(world):
    world.advance(5)
    keep = set(world.chain("train/0")) | {"n8", "n9"}
    for node in world.spec.nodes:
        if node.name not in keep:
            world.hang_up(node.name)
    world.advance(10)
    assert "silence" in world.shut()
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_LOST, victim)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")


def test_nodes_that_are_gone_for_good_are_not_missed(world):
    """Deaths one after another are judged one after another, however many there were before."""
    for name in [node.name for node in world.spec.nodes][5:13]:
        world.fail(FaultKind.POWER_OFF, name)
        world.advance(400)
    assert world.shut() == {} or "breaker" not in world.shut()


def test_a_node_under_maintenance_is_not_missed(make_world):
    world = make_world(nodes=8).start()
    world.maintenance(*(f"n{number}" for number in range(2, 7)), seconds=600)
    for number in range(2, 7):
        world.hang_up(f"n{number}")
    world.advance(20)
    assert world.shut() == {}


@pytest.mark.parametrize("back", [0.5, 5.0, 600.0])
def test_after_a_clock_that_went_back_silence_is_judged_again(world, back):
    """When it has caught up: until then nothing is due, and nobody has been silent."""
    world.advance(10)
    world.now -= back
    world._next_beat = world.now
    world.advance(10 + back, step=max(0.25, back / 500))
    assert {node.verdict.value for node in world.engine.state.nodes} == {"HEALTHY"}
    world.advance(10)
    assert world.shut() == {}
    victim = silence_with_darkness(world)
    world.advance(10)
    assert victim not in world.chain("train/0")


def test_a_clock_that_stays_behind_is_told_once(world):
    now, told = world.now, len(world.told)
    for number in range(100):
        world.now = now - 50 + number / 10
        world.handle(Tick())
    assert world.kinds()[told:].count("stalled") == 1


def test_what_was_overdue_before_it_was_put_on_the_agenda_is_no_stall(world):
    """A drain was cut off by the end of the controller, and its maintenance was over before the next one began."""
    victim = world.chain("train/0")[1]
    world.deaf = {node.name for node in world.spec.nodes}
    world.maintenance(victim, seconds=60)
    world.deaf = set()
    world.stall(HOUR)
    told = len(world.told)
    world.restart()
    world.advance(30)
    assert "stalled" not in world.kinds()[told:]
    assert world.overlay(victim) == ""


def test_nodes_that_were_taken_out_of_use_are_not_missed(make_world):
    """Most of the fabric was drained and switched off: silence of the rest may be judged still."""
    world = make_world(nodes=16).start()
    world.submit(rings=1, tp=16)
    for number in range(5, 16):
        world.cordon(f"n{number}")
        world.hang_up(f"n{number}")
    world.advance(20)
    assert world.shut() == {}
    victim = silence_with_darkness(world)
    world.advance(10)
    assert world.verdict(victim) == "FAILED"


def test_a_cordoned_node_of_a_ring_is_missed(world):
    for node in world.spec.nodes[:9]:
        world.cordon(node.name)
        world.hang_up(node.name)
    world.advance(20)
    assert "silence" in world.shut()


@pytest.mark.parametrize("kind", ["stall", "silence"])
def test_while_in_doubt_a_person_is_believed(world, kind):
    world.advance(5)
    victim = world.chain("train/0")[1]
    world.hang_up(victim)
    world.advance(8)
    if kind == "stall":
        world.stall(10)
        world.handle(Tick())
    else:
        for node in world.spec.nodes[8:]:
            world.hang_up(node.name)
        world.hang_up(world.chain("train/1")[0])
        world.advance(5)
    assert "silence" in world.shut()
    assert victim in world.chain("train/0")
    world.declare_dead(victim)
    assert world.verdict(victim) == "FAILED"


def test_an_idle_node_that_was_told_something_before_a_stall_gets_its_time_anew(world):
    """Its answer may be there, and unread."""
    port = world.wiring.ports(15)[0]
    world.plant.select(15, port.bundle, port.path)
    world.deaf = {"n15"}
    world.hang_up("n15")
    world.silent.clear()
    world.dial("n15")
    assert "n15" in world.commanded()
    (command,) = [command for command in world.commands if command.node == "n15"]
    world.stall(30)
    world.handle(Tick())
    assert not world.engine.state.node("n15").unanswered
    world.deaf = set()
    world.answer(command)
    world.advance(20)
    assert not world.engine.state.node("n15").unanswered
    assert not world.engine.state.new_failures


def test_a_stall_shows_although_nothing_but_the_pulse_is_due(make_world):
    """Nobody has dialled in, and nothing is waited for."""
    world = make_world(nodes=4)
    world.silent = {node.name for node in world.spec.nodes}
    world.start()
    world.advance(60)
    world.stall(2.5)
    world.handle(Tick())
    assert "stood still" in world.shut()["silence"]


def test_who_was_not_heard_since_the_start_has_a_confirm_time_from_when_the_gate_opens(world):
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.POWER_OFF, victim)
    world.restart()
    world.advance(14)
    assert world.shut() == {}
    assert world.verdict(victim) == "UNKNOWN"
    assert victim in world.chain("train/0")
    world.advance(3)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")


def test_a_node_that_may_be_dialling_in_is_dead_only_when_the_gate_is_open(world):
    """Even for a person who says so: it may be heard in the next moment."""
    victim = world.chain("train/0")[1]
    world.silent.add(victim)
    world.restart()
    world.advance(2)
    assert world.declare_dead(victim).error is None
    assert world.verdict(victim) == "UNKNOWN"
    world.advance(15)
    assert world.verdict(victim) == "FAILED"


def test_while_heartbeats_are_not_heard_for_want_of_a_broker_silence_moves_nothing(world):
    """It may be us who are deaf, and nobody is judged by what was missed meanwhile."""
    world.advance(5)
    world.commands.clear()
    victim = world.chain("train/0")[1]
    world.handle(BusLost("connection refused"))
    assert "over a broker that is out of reach: connection refused" in world.shut()["silence"]
    world.fail(FaultKind.POWER_OFF, victim)
    world.advance(30)
    assert world.verdict(victim) != "FAILED"
    assert not world.commands
    world.handle(BusBack())
    assert world.shut() == {}
    world.advance(4)
    assert world.verdict(victim) != "FAILED"
    world.advance(3)
    assert world.verdict(victim) == "FAILED"
    assert victim not in world.chain("train/0")


def test_an_outage_of_the_broker_is_no_fault_of_any_node(world):
    """Agents whose heartbeats are not answered go on over their streams: nobody falls silent."""
    told = len(world.told)
    world.advance(5)
    world.handle(BusLost("it ended"))
    world.advance(30)
    world.handle(BusBack())
    world.advance(10)
    assert {node.verdict.value for node in world.engine.state.nodes} == {"HEALTHY"}
    assert [event.kind for event in world.told[told:]] == ["gate-shut", "gate-open"]


def test_what_is_reported_while_the_broker_is_out_of_reach_is_acted_on(world):
    world.handle(BusLost("it ended"))
    victim = world.chain("train/0")[1]
    world.fail(FaultKind.GPU_LOST, victim)
    assert victim not in world.chain("train/0")
    world.assert_light_is_plan()
