"""Second witnesses against nodes that are silent with their light on; and none against nodes that speak."""

import pytest

from ringlight.controller.engine.state import RingState
from ringlight.controller.health.settings import HealthSettings, ProbeSettings
from ringlight.fabric.errors import ErrorCode


def fall_silent(world, node, seconds=10.0):
    """A machine hangs: its agent says nothing, its light stays on."""
    world.hang_up(node)
    world.advance(seconds)


@pytest.fixture
def hung(world):
    """The second node of train/0 hangs."""
    victim = world.chain("train/0")[1]
    fall_silent(world, victim)
    assert world.verdict(victim) == "UNREACHABLE"
    world.commands.clear()
    return victim


def test_silence_alone_moves_nothing(world, hung):
    world.advance(3_600, step=1.0)
    assert hung in world.chain("train/0")
    assert not world.commands


def test_a_person_may_know_better(world, hung):
    assert world.declare_dead(hung).error is None
    assert world.verdict(hung) == "FAILED"
    assert hung not in world.chain("train/0")
    assert world.ring("train/0").state is RingState.ACTIVE
    world.assert_light_is_plan()


def test_a_node_that_speaks_cannot_be_declared_dead(world):
    node = world.chain("train/0")[1]
    answer = world.declare_dead(node)
    assert answer.error.code is ErrorCode.REFUSED
    assert "drain" in answer.error.hint
    assert node in world.chain("train/0")


def test_a_launcher_that_reports_a_stall_is_believed_about_silent_nodes_only(world, hung):
    others = set(world.chain("train/0")) - {hung}
    assert world.report_stall("train").error is None
    assert hung not in world.chain("train/0")
    assert others <= set(world.chain("train/0"))
    assert {world.verdict(name) for name in others} == {"HEALTHY"}


def test_a_stall_is_remembered_for_a_while_and_not_for_ever(make_world):
    world = make_world().start()
    world.submit()
    victim = world.chain("train/0")[1]
    world.report_stall("train")
    fall_silent(world, victim, 20)
    assert victim not in world.chain("train/0")
    world.advance(120)
    other = world.chain("train/1")[1]
    fall_silent(world, other, 60)
    assert other in world.chain("train/1")


def test_a_stall_condemns_nobody_in_a_partition(world):
    """The whole ring is silent: the job may stand still because of what keeps us from hearing it."""
    chain = world.chain("train/0")
    for name in chain:
        world.hang_up(name)
    world.advance(10)
    assert {world.verdict(name) for name in chain} == {"UNKNOWN"}
    world.commands.clear()
    world.report_stall("train")
    world.advance(5)
    assert world.chain("train/0") == chain
    assert not world.commands


def test_a_node_alone_in_its_ring_has_no_neighbours_to_speak_for_it(make_world):
    world = make_world(nodes=8).start()
    world.submit("solo", rings=1, tp=4)
    (victim,) = world.chain("solo/0")
    fall_silent(world, victim)
    assert world.chain("solo/0") == [victim]
    world.report_stall("solo")
    assert world.chain("solo/0") != [victim]


def test_a_witness_is_forgotten_the_moment_the_node_speaks(world, hung):
    world.pause()
    world.declare_dead(hung)
    assert world.verdict(hung) == "FAILED"
    world.silent.discard(hung)
    world.dial(hung)
    assert world.verdict(hung) != "FAILED"
    assert world.engine.state.node(hung).witness == ""
    world.resume()
    world.advance(1)
    assert hung in world.chain("train/0")


@pytest.fixture
def probing(make_world):
    world = make_world(probe=ProbeSettings(command=("ipmi", "{node}"), interval=30.0)).start()
    world.submit()
    return world


def test_the_sites_probe_is_asked_now_and_then_about_a_silent_node_of_a_ring(probing):
    victim = probing.chain("train/0")[1]
    fall_silent(probing, victim, 6)
    assert probing.probes == [victim]
    probing.advance(65)
    assert probing.probes == [victim] * 3
    probing.silent.discard(victim)
    probing.dial(victim)
    probing.advance(60)
    assert probing.probes == [victim] * 3


def test_only_a_probe_that_says_down_counts(probing):
    victim = probing.chain("train/0")[1]
    fall_silent(probing, victim)
    for up in (True, None):
        probing.probed(victim, up)
        assert victim in probing.chain("train/0")
    probing.probed(victim, False)
    assert victim not in probing.chain("train/0")
    probing.assert_light_is_plan()


def test_a_probe_that_says_down_of_a_node_that_speaks_is_wrong(probing):
    victim = probing.chain("train/0")[1]
    probing.probed(victim, False)
    probing.advance(30)
    assert probing.verdict(victim) == "HEALTHY"


def test_spares_are_not_probed(probing):
    fall_silent(probing, "n15", 60)
    assert probing.probes == []


def test_a_site_may_let_long_silence_count(make_world):
    health = HealthSettings(unreachable_bypass_after=120.0)
    world = make_world(health=health).start()
    world.submit()
    victim = world.chain("train/0")[1]
    fall_silent(world, victim, 110)
    assert victim in world.chain("train/0")
    world.advance(12)
    assert victim not in world.chain("train/0")
    assert "than this site allows" in world.engine.state.node(victim).judgement.reason
    world.assert_light_is_plan()


def test_a_launcher_is_not_believed_about_two_neighbours(world):
    """What keeps us from hearing both may be what the job stands still for. A person may still know better."""
    chain = world.chain("train/0")
    for name in chain[1:3]:
        world.hang_up(name)
    world.advance(10)
    assert {world.verdict(name) for name in chain[1:3]} == {"UNREACHABLE"}
    world.report_stall("train")
    world.advance(5)
    assert world.chain("train/0") == chain
    world.declare_dead(chain[1])
    assert chain[1] not in world.chain("train/0")


def test_a_probe_that_was_asked_before_the_node_spoke_is_out_of_date(probing):
    victim = probing.chain("train/0")[1]
    fall_silent(probing, victim, 6)
    assert probing.probes == [victim]
    probing.silent.discard(victim)
    probing.dial(victim)
    fall_silent(probing, victim, 3.5)
    probing.probed(victim, False)
    assert probing.verdict(victim) == "SUSPECT"
    assert victim in probing.chain("train/0")


def test_nobody_is_probed_while_in_doubt_and_everybody_who_is_silent_still_afterwards(probing):
    probing.advance(5)
    victim = probing.chain("train/0")[1]
    for node in probing.spec.nodes[:9]:
        probing.hang_up(node.name)
    probing.advance(60)
    assert probing.probes == []
    for node in probing.spec.nodes[:9]:
        if node.name != victim:
            probing.silent.discard(node.name)
            probing.dial(node.name)
    probing.advance(10)
    assert probing.probes == [victim]


def test_a_probe_of_a_node_that_is_not_in_the_fabric_is_nobodys(probing):
    probing.probed("nowhere", False)
    assert "probe" not in probing.kinds()


def test_time_that_was_spent_in_doubt_is_not_overdue(make_world):
    """What a site allows is counted from the moment from which silence may be judged."""
    world = make_world(health=HealthSettings(unreachable_bypass_after=60.0)).start()
    world.submit()
    world.advance(5)
    victim = world.chain("train/0")[1]
    for node in world.spec.nodes[:9]:
        world.hang_up(node.name)
    world.advance(100)
    for node in world.spec.nodes[:9]:
        if node.name != victim:
            world.silent.discard(node.name)
            world.dial(node.name)
    world.advance(50)
    assert world.verdict(victim) == "UNREACHABLE"
    world.advance(20)
    assert world.verdict(victim) == "FAILED"


def test_nor_if_the_neighbour_fell_silent_a_little_later(world):
    chain = world.chain("train/0")
    world.report_stall("train")
    world.hang_up(chain[1])
    world.advance(1.5)
    world.hang_up(chain[2])
    world.advance(10)
    assert world.chain("train/0") == chain


def test_a_launcher_is_not_believed_before_silence_is_confirmed(world):
    victim = world.chain("train/0")[1]
    world.report_stall("train")
    fall_silent(world, victim, 4)
    assert world.verdict(victim) == "SUSPECT"
    world.advance(2)
    assert world.verdict(victim) == "FAILED"


def test_long_silence_of_a_node_that_serves_nobody_is_no_failure(make_world):
    """It has no ring that could be lost."""
    world = make_world(health=HealthSettings(unreachable_bypass_after=60.0)).start()
    fall_silent(world, "n15", 200)
    world.cordon("n15")  # whereupon it is judged anew
    assert world.verdict("n15") == "UNREACHABLE"
    assert not world.engine.state.new_failures
