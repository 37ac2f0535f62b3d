"""What the page is told: complete, and small where there is nothing to say."""

import json
from collections import Counter
from itertools import pairwise

from ringlight.controller.adapters.page.rendering import COLOURS, HUES, colours_of, to_bytes
from ringlight.controller.engine.picture import RingLight, view_picture
from ringlight.emulator.faults import FaultKind


async def snapshot(site):
    return (await site.get("/api/fabric")).json


def rings_of(job, count):
    return [RingLight(f"{job}/{rank}", job, "ACTIVE", "", 1, (), (), ()) for rank in range(count)]


async def test_nodes_that_are_well_cost_a_name_a_verdict_and_their_ring(site):
    shown = await snapshot(site)
    assert len(shown["nodes"]) == 16
    member, spare = site.world.chain("train/0")[0], next(n["name"] for n in shown["nodes"] if n.get("spare"))
    by_name = {node["name"]: node for node in shown["nodes"]}
    assert by_name[member] == {"name": member, "verdict": "HEALTHY", "ring": "train/0"}
    assert by_name[spare] == {"name": spare, "verdict": "HEALTHY", "spare": True}


async def test_a_ring_has_its_chain_and_lit_hops(site):
    ring = (await snapshot(site))["rings"][0]
    names = site.world.chain("train/0")
    assert (ring["name"], ring["job"], ring["state"]) == ("train/0", "train", "ACTIVE")
    assert ring["chain"] == [int(name[1:]) for name in names]
    assert len(ring["hops"]) == 3
    assert all(hop["lit"] and hop["distance"] == 1 for hop in ring["hops"])
    assert ring["hops"][0]["name"] == f"{names[0]}+1"


async def test_a_bypass_and_a_failed_node_are_seen(site):
    failed = site.world.chain("train/0")[1]
    site.world.fail(FaultKind.GPU_LOST, failed)
    site.world.settle()
    shown = await snapshot(site)
    node = next(node for node in shown["nodes"] if node["name"] == failed)
    assert (node["verdict"], node["faults"]) == ("FAILED", 1)
    assert "gpu" in node["reason"]
    ring = next(ring for ring in shown["rings"] if ring["name"] == "train/0")
    assert ring["state"] == "ACTIVE"
    assert shown["fabric"]["longest_bypass"] == max(hop["distance"] for hop in ring["hops"])
    assert shown["sequence"] == site.world.engine.state.sequence


async def test_a_dead_hop_is_drawn_where_it_is(site):
    first, second = site.world.chain("train/0")[:2]
    site.world.fail(FaultKind.FIBRE_CUT, first, distance=1)
    site.world.advance(5.0)
    shown = await snapshot(site)
    assert shown["dead_hops"] == [
        {"name": f"{first}+1", "start": int(first[1:]), "end": int(second[1:]), "distance": 1}
    ]


async def test_what_is_laid_over_nodes_and_what_keeps_the_controller_is_seen(site):
    site.world.cordon("n15", reason="new fan")
    site.world.pause("a person looks")
    shown = await snapshot(site)
    assert (shown["nodes"][15]["overlay"], shown["nodes"][15]["overlay_reason"]) == ("cordoned", "new fan")
    gate = next(gate for gate in shown["gates"] if gate["name"] == "pause")
    assert (gate["open"], gate["reason"]) == (False, "a person looks")
    assert shown["answer"]["notes"] == ["paused, so nothing moves: a person looks"]


async def test_a_silent_node_and_light_of_no_ring_are_seen(make_world, serve_page):
    world = make_world().start()
    world.submit()
    chain = world.chain("train/0")
    for name in chain:
        world.hang_up(name)
    state = world.engine.state
    for name in chain[:2]:  # as if the ring had been let go behind the controller's back
        state.node(name).desired = world.wiring.loopback
    shown = await snapshot(await serve_page(world))
    assert all(shown["nodes"][int(name[1:])]["silent"] for name in chain)
    assert f"{chain[0]}+1" in [hop["name"] for hop in shown["strange_hops"]]


def test_marks_of_nodes_that_are_well_are_shared(world):
    nodes = view_picture(world.engine.state).nodes
    assert len({id(node) for node in nodes}) == 3  # of two rings, and of none


def test_no_colour_is_used_twice_while_one_is_unused():
    assert sorted(colours_of(rings_of("train", COLOURS)).values()) == list(range(COLOURS))
    plain = colours_of([*rings_of("a", 2), *rings_of("b", 4)])
    assert sorted(plain.values()) == list(range(HUES))
    many = Counter(colours_of(rings_of("train", 5 * COLOURS)).values())
    assert set(many.values()) == {5}


def test_neighbouring_ranks_differ_in_hue():
    colours = list(colours_of(rings_of("train", 40)).values())
    assert all(a % HUES != b % HUES for a, b in pairwise(colours))


def test_a_job_whose_name_comes_later_changes_no_colour():
    before = colours_of(rings_of("a", 4))
    assert before.items() <= colours_of([*rings_of("a", 4), *rings_of("b", 9)]).items()


def test_documents_are_json_whatever_is_in_them():
    hostile = {"reason": "<img src=x onerror=alert(1)> \u2028 \x00 \ud7ff 光"}
    assert json.loads(to_bytes(hostile)) == hostile
