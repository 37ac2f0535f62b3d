"""Every kind of fault over real processes: light equals plan afterwards, and no other ring got a command."""

import pytest

from ringlight.protos.v1 import emulator_pb2 as pb

pytestmark = pytest.mark.e2e


async def heal(lab, kind, *, ring=1, member=1, wait=None, **details):
    """Break a node of a ring, wait until the ring is ACTIVE again; the ring before and after, and the victim."""
    before, mark = await lab.ring(ring), lab.observer.last_sequence
    others = [other for other in await lab.observer.rings() if other.name != before.name]
    generations = await lab.commands_to(others)
    victim = before.nodes[member]
    fault = await lab.fail(kind, victim, **details)
    if wait is not None:
        await wait(victim, mark)
    await lab.event("ring-active", before.name, after=mark)
    await lab.observer.settled()
    after = await lab.ring(ring)
    assert await lab.commands_to(others) == generations
    await lab.assert_light_is_plan(3)
    return before, after, victim, fault


async def test_gpu_with_an_xid(lab):
    async with lab() as running:
        _, after, victim, _ = await heal(running, pb.FAULT_KIND_GPU_XID, gpu=2, xid=79)
        assert victim not in after.nodes
        node = await running.node(victim)
        assert node.verdict == "FAILED"
        assert node.faults[0].code == "xid:79"


async def test_gpu_lost_and_repaired(lab):
    async with lab() as running:
        _, after, victim, fault = await heal(running, pb.FAULT_KIND_GPU_LOST, gpu=1)
        assert victim not in after.nodes
        generations = await running.generations()
        await running.repair(fault)
        await running.verdict(victim, "HEALTHY", after=running.observer.last_sequence - 1)
        assert await running.generations() == generations, "a recovered node is never put back into a ring"
        assert (await running.node(victim)).spare


async def test_power_off_and_on(lab):
    async with lab() as running:
        mark = running.observer.last_sequence
        _, after, victim, fault = await heal(running, pb.FAULT_KIND_POWER_OFF)
        assert victim not in after.nodes
        assert (await running.node(victim)).verdict == "FAILED"
        await running.repair(fault)
        await running.verdict(victim, "HEALTHY", after=mark)
        await running.assert_light_is_plan(3)


async def test_agent_crash_moves_nothing(lab):
    async with lab() as running:
        ring, generations = await running.ring(1), await running.generations()
        fault = await running.fail(pb.FAULT_KIND_AGENT_CRASH, ring.nodes[1])
        await running.verdict(ring.nodes[1], "UNREACHABLE")
        assert await running.generations() == generations
        await running.assert_light_is_plan(3)
        mark = running.observer.last_sequence
        await running.repair(fault)
        await running.verdict(ring.nodes[1], "HEALTHY", after=mark)
        assert await running.generations() == generations
        await running.assert_light_is_plan(3)


async def test_agent_hang_moves_nothing(lab):
    async with lab() as running:
        ring, generations = await running.ring(1), await running.generations()
        fault = await running.fail(pb.FAULT_KIND_AGENT_HANG, ring.nodes[1])
        await running.verdict(ring.nodes[1], "UNREACHABLE")
        assert await running.generations() == generations
        await running.assert_light_is_plan(3)
        mark = running.observer.last_sequence
        await running.repair(fault)
        await running.verdict(ring.nodes[1], "HEALTHY", after=mark)
        assert await running.generations() == generations


async def test_fibre_cut_keeps_both_nodes(lab):
    async with lab() as running:
        ring = await running.ring(1)
        near, far = (int(name.removeprefix("n")) for name in ring.nodes[1:3])
        mark = running.observer.last_sequence
        await heal(running, pb.FAULT_KIND_FIBRE_CUT, distance=(far - near) % running.nodes)
        hop = f"n{near}+{(far - near) % running.nodes}"
        await running.event("hop-dead", hop, after=mark)
        assert (await running.observer.settled()).dead_hops == [hop]
        assert {(await running.node(name)).verdict for name in ring.nodes[1:3]} == {"HEALTHY"}


async def test_one_dead_module_fails_its_node(lab):
    async with lab() as running:
        _, after, victim, _ = await heal(running, pb.FAULT_KIND_MODULE_DEAD, bundle=0, module=1)
        assert victim not in after.nodes
        assert (await running.node(victim)).faults[0].component == "b0.m1"
        assert not (await running.observer.settled()).dead_hops


async def test_a_stuck_bundle_is_planned_around(lab):
    async with lab() as running:
        ring = await running.ring(1)
        stuck = ring.nodes[2]
        await running.fail(pb.FAULT_KIND_BUNDLE_STUCK, stuck, bundle=1)
        mark = running.observer.last_sequence
        _, after, victim, _ = await heal(
            running,
            pb.FAULT_KIND_GPU_LOST,
            wait=lambda _victim, _mark: running.verdict(stuck, "FAILED", after=mark),
        )
        assert not {victim, stuck} & set(after.nodes)


async def test_a_slow_bundle_is_waited_for_or_planned_around(lab):
    async with lab() as running:
        ring = await running.ring(1)
        await running.fail(pb.FAULT_KIND_BUNDLE_SLOW, ring.nodes[2], bundle=1, delay=0.1)
        _, after, victim, _ = await heal(running, pb.FAULT_KIND_GPU_LOST)
        assert victim not in after.nodes
        assert ring.nodes[2] in after.nodes, "a tenth of a second is slow, not broken"


async def test_several_at_once(lab):
    async with lab(nodes=32, rings=5) as running:
        rings = await running.observer.rings()
        mark = running.observer.last_sequence
        for index in (0, 2, 4):
            await running.fail(pb.FAULT_KIND_GPU_LOST, rings[index].nodes[1], gpu=0)
        for index in (0, 2, 4):
            await running.event("ring-active", rings[index].name, after=mark)
        after = await running.observer.rings()
        assert after[1].generation == rings[1].generation
        assert after[3].generation == rings[3].generation
        await running.assert_light_is_plan(5)
