"""What an agent counts."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.tally import SWITCH_BUCKETS, Distribution


@given(st.lists(st.floats(0, 10)))
def test_a_distribution_counts_what_is_not_above_each_bound(values):
    distribution = Distribution(SWITCH_BUCKETS)
    for value in values:
        distribution.note(value)
    shown = dict(distribution.cumulative())
    assert shown == {str(bound): sum(value <= bound for value in values) for bound in SWITCH_BUCKETS} | {
        "+Inf": len(values)
    }
    assert distribution.sum == sum(values, 0.0)
