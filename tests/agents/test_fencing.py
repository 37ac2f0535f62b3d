"""Whom an agent obeys."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.fencing import Fence, Refusal
from ringlight.agents.state_file import FenceFile

RESTART = "restart"
NODES = st.sampled_from(["n0", "n1"])
STEPS = st.lists(
    st.one_of(st.just(RESTART), st.tuples(NODES, st.integers(0, 4), st.integers(0, 6))), min_size=1, max_size=25
)


def test_a_lower_epoch_is_refused_whatever_its_generation():
    assert Fence(epoch=3).refusal(node="n0", epoch=2, generation=99) is Refusal.STALE_EPOCH


def test_a_lower_generation_of_the_same_node_is_refused():
    fence = Fence(3).applied("n0", 7)
    assert fence.refusal(node="n0", epoch=3, generation=6) is Refusal.STALE_GENERATION
    assert fence.refusal(node="n1", epoch=3, generation=6) is None


def test_the_same_command_again_is_obeyed_again():
    assert Fence(3).applied("n0", 7).refusal(node="n0", epoch=3, generation=7) is None


@given(STEPS)
def test_a_fence_never_falls(steps):
    fence = Fence()
    for step in steps:
        if step == RESTART:
            continue
        node, epoch, generation = step
        later = fence.saw(epoch).applied(node, generation)
        assert later.epoch == max(fence.epoch, epoch)
        assert all(later.generations[known] >= value for known, value in fence.generations.items())
        fence = later


@given(STEPS)
async def test_no_lower_epoch_or_generation_is_obeyed_over_restarts(steps):
    with tempfile.TemporaryDirectory() as directory:
        file = FenceFile(Path(directory), "a1")
        highest_epoch, highest = 0, {}
        for step in steps:
            if step == RESTART:
                await file.save()
                file = FenceFile(Path(directory), "a1")
                file.load()
                continue
            node, epoch, generation = step
            stale = epoch < highest_epoch or generation < highest.get(node, 0)
            assert (file.fence.refusal(node=node, epoch=epoch, generation=generation) is not None) == stale
            if not stale:
                await file.see(epoch)
                file.note_applied(node, generation)
                highest_epoch, highest[node] = epoch, generation
