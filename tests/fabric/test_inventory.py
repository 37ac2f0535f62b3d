"""What an agent should find, and the first thing it found otherwise."""

from dataclasses import replace

import pytest

from ringlight.fabric.circuits import Path
from ringlight.fabric.inventory import BundleInventory, Inventory, difference, inventory_of

P1, P2 = Path.PATH_1, Path.PATH_2


def test_the_inventory_of_a_node_names_the_far_end_of_each_fibre(make_wiring):
    assert inventory_of(make_wiring(8, 2), 7) == Inventory(
        gpus=4,
        bundles=(
            BundleInventory(0, 8, {P1: "n0/b1.p1", P2: "n1/b1.p2"}),
            BundleInventory(2, 8, {P1: "n6/b0.p1", P2: "n5/b0.p2"}),
        ),
    )


def test_ports_with_nothing_plugged_in_are_not_in_the_inventory(make_wiring):
    first = inventory_of(make_wiring(8, 2, closed=False), 0)
    assert [dict(bundle.peers) for bundle in first.bundles] == [{P1: "n1/b1.p1", P2: "n2/b1.p2"}, {}]


def test_every_fibre_is_in_the_inventories_of_both_its_ends(make_wiring):
    wiring = make_wiring(11, 4)
    inventories = [inventory_of(wiring, position) for position in range(11)]
    for hop in wiring.hops:
        for here, there in ((hop.low, hop.high), (hop.high, hop.low)):
            assert inventories[here.position].bundles[here.bundle].peers[here.path] == wiring.port_name(there)


def test_equal_inventories_do_not_differ(make_wiring):
    for position in range(8):
        ours = inventory_of(make_wiring(8, 2, closed=False), position)
        assert difference(ours, inventory_of(make_wiring(8, 2, closed=False), position)) == ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda found: replace(found, gpus=8), "GPUs: the fabric file says 4, the agent found 8"),
        (
            lambda found: replace(found, bundles=found.bundles[:1]),
            "bundles: the fabric file says 2, the agent found 1",
        ),
        (
            lambda found: with_bundle(found, 1, edge=3),
            "bundle 1: the fabric file puts it on edge 2, the agent on edge 3",
        ),
        (
            lambda found: with_bundle(found, 0, modules=7),
            "bundle 0: the fabric file says 8 modules, the agent found 7",
        ),
        (
            lambda found: with_bundle(found, 0, peers={P1: "n1/b1.p1", P2: "n3/b1.p2"}),
            "fibre at b0 PATH_2: the fabric file says n2/b1.p2, the agent n3/b1.p2",
        ),
        (
            lambda found: with_bundle(found, 0, peers={P1: "n1/b1.p1"}),
            "fibre at b0 PATH_2: the fabric file says n2/b1.p2, the agent nowhere",
        ),
        (
            lambda found: with_bundle(found, 1, peers={P1: "n7/b0.p1"}),
            "fibre at b1 PATH_1: the fabric file says nowhere, the agent n7/b0.p1",
        ),
    ],
)
def test_the_first_difference_is_named(make_wiring, change, expected):
    ours = inventory_of(make_wiring(8, 2, closed=False), 0)
    assert difference(ours, change(ours)) == expected


def test_only_the_first_of_several_differences_is_named(make_wiring):
    ours = inventory_of(make_wiring(8, 2), 0)
    theirs = with_bundle(with_bundle(ours, 1, edge=0), 0, modules=4)
    assert difference(ours, theirs) == "bundle 0: the fabric file says 8 modules, the agent found 4"


def with_bundle(inventory, number, **fields):
    bundles = list(inventory.bundles)
    bundles[number] = replace(bundles[number], **fields)
    return replace(inventory, bundles=tuple(bundles))
