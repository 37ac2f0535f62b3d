"""Where nodes stand in racks and aggregation domains."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.fabric.deployment import Deployment


def test_sub_lines_follow_each_other_and_each_takes_one_node_of_every_rack() -> None:
    stands = Deployment(racks=2)
    assert [stands.rack(position) for position in range(6)] == ["rack0", "rack1"] * 3
    assert [stands.slot(position) for position in range(6)] == [0, 0, 1, 1, 2, 2]


def test_domains_are_contiguous_ranges_of_racks() -> None:
    stands = Deployment(racks=6, domains=3)
    assert [stands.domain(position) for position in range(8)] == [
        f"domain{number}" for number in (0, 0, 1, 1, 2, 2, 0, 0)
    ]


def test_what_is_not_known_has_no_name() -> None:
    assert Deployment(racks=0).rack(3) == Deployment(racks=0).domain(3) == Deployment(racks=2).domain(3) == ""


@given(
    racks_a_domain=st.integers(1, 6),
    domains=st.integers(1, 5),
    nodes_per_rack=st.integers(1, 6),
    reach=st.integers(1, 4),
)
def test_every_place_is_taken_once_and_racks_of_near_neighbours_differ(
    racks_a_domain: int, domains: int, nodes_per_rack: int, reach: int
) -> None:
    racks = racks_a_domain * domains
    stands = Deployment(racks, domains)
    order = range(racks * nodes_per_rack)
    assert {(stands.rack(p), stands.slot(p)) for p in order} == {
        (f"rack{rack}", slot) for rack in range(racks) for slot in range(nodes_per_rack)
    }
    # A rack is wholly in one domain, and each domain has as many racks.
    domain_of = {stands.rack(p): stands.domain(p) for p in order}
    assert {(stands.rack(p), stands.domain(p)) for p in order} == set(domain_of.items())
    assert sorted(list(domain_of.values()).count(f"domain{number}") for number in range(domains)) == (
        [racks_a_domain] * domains
    )
    # Also across the end of a closed order.
    for position in order:
        for distance in range(1, min(reach, racks - 1) + 1):
            assert stands.rack(position) != stands.rack((position + distance) % len(order))
