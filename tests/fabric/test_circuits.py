"""Paths, tables and their digests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.fabric.circuits import EXTERNAL_PATHS, FaultClass, Path, all_loopback, digest

tables = st.integers(1, 4).flatmap(
    lambda bundles: st.tuples(*[st.tuples(*[st.sampled_from(Path)] * bundles) for _ in range(2)])
)


@given(tables)
def test_two_tables_of_a_node_are_equal_if_and_only_if_their_digests_are(pair):
    one, other = pair
    assert (digest(one) == digest(other)) is (one == other)


def test_a_digest_holds_four_bits_a_bundle_with_bundle_0_lowest():
    assert digest((Path.PATH_1, Path.LOOPBACK, Path.DARK)) == 0x412
    assert digest(()) == 0
    assert digest([Path.PATH_2]) == 3


def test_only_the_two_fibres_are_external():
    assert tuple(path for path in Path if path.is_external) == EXTERNAL_PATHS == (Path.PATH_1, Path.PATH_2)


@pytest.mark.parametrize("bundles", [2, 3, 4])
def test_a_node_on_its_own_is_in_loopback_everywhere(bundles):
    assert all_loopback(bundles) == tuple([Path.LOOPBACK] * bundles)


def test_fault_classes_are_ordered_by_gravity():
    assert sorted(FaultClass) == [FaultClass.INFO, FaultClass.DEGRADED, FaultClass.FATAL]
