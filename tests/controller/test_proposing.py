"""Proposals for new jobs are worked out beside the event loop, and laid by the engine when they can be."""

import pytest

from ringlight.controller.engine.events import SubmitJob
from ringlight.controller.planning.cross_tor import cross_tor_rate
from ringlight.controller.proposing import with_proposal
from ringlight.controller.settings import Settings
from ringlight.emulator.faults import FaultKind
from ringlight.fabric.file import parse_fabric
from tests.world import World

FABRIC = """
name: racks
k: 2
gpus: 4
nodes: {racks: 8, nodes_per_rack: 4}
"""


@pytest.fixture
def racks():
    """32 nodes in 8 racks of four, started."""
    return World(parse_fabric(FABRIC, source="racks"), Settings()).start()


async def test_a_new_job_is_laid_in_step_with_its_racks(racks):
    request = await with_proposal(racks.engine.state, SubmitJob("submit-train", "train", 7, 16))
    racks.handle(request)
    racks.settle()
    assert racks.answers["submit-train"].error is None
    chains = [ring.chain for ring in racks.engine.state.jobs["train"].rings]
    assert chains == list(request.proposal)
    assert cross_tor_rate(chains, [node.rack for node in racks.spec.nodes], 4) == 0
    racks.assert_light_is_plan()


async def test_a_fault_that_overtakes_the_proposal_costs_no_ring(racks):
    request = await with_proposal(racks.engine.state, SubmitJob("submit-train", "train", 7, 16))
    racks.fail(FaultKind.GPU_LOST, racks.wiring.name(request.proposal[3][2]), gpu=0)
    racks.handle(request)
    racks.settle()
    assert racks.engine.state.jobs["train"].active == 7
    racks.assert_light_is_plan()


@pytest.mark.parametrize("request_", [SubmitJob("", "a", 2, 6), SubmitJob("", "b", 0, 16), SubmitJob("", "c", 2, 0)])
async def test_nothing_is_proposed_for_what_will_be_refused(racks, request_):
    assert await with_proposal(racks.engine.state, request_) == request_


async def test_a_job_larger_than_the_fabric_is_proposed_what_fits(racks):
    request = await with_proposal(racks.engine.state, SubmitJob("", "train", 4_000_000_000, 16))
    assert len(request.proposal) == 8
