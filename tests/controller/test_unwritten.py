"""What waits for the store: never more than names, and written late it gives the same as written at once."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.engine.effects import (
    FabricEvent,
    Persist,
    StoredConduct,
    StoredHold,
    StoredHop,
    StoredJob,
    StoredOverlay,
    StoredRing,
)
from ringlight.controller.ports import LoggedEvent
from ringlight.controller.unwritten import Unwritten


def job(name, *, released=False, order=1):
    return StoredJob(name, 2, 16, 1, 0, order, released=released)


def ring(name, generation=1, state="ACTIVE"):
    return StoredRing(name, name.partition("/")[0], ("n0",), state, "", generation)


def event(sequence):
    return LoggedEvent(FabricEvent(sequence, "verdict", "n1", ""), 0.0)


def stored(records):
    """What a store holds after these records: the rules of the real one, said once more."""
    jobs, rings, overlays, conduct, hops, hold, numbers = {}, {}, {}, {}, {}, None, (0, 0, 0)
    for record in records:
        for one in record.jobs:
            if one.released:
                jobs.pop(one.name, None)
                rings = {name: kept for name, kept in rings.items() if kept.job != one.name}
            else:
                jobs[one.name] = one
        rings.update({one.name: one for one in record.rings})
        overlays.update({one.node: one for one in record.overlays})
        conduct.update({one.node: one for one in record.conduct})
        hops.update({one.hop: one for one in record.hops})
        hold = record.hold or hold
        numbers = tuple(map(max, numbers, (record.epoch, record.reserved, record.generation)))
    rings = {name: one for name, one in rings.items() if not one.released}
    overlays = {name: one for name, one in overlays.items() if one.overlay}
    return jobs, rings, overlays, conduct, hops, hold, numbers


jobs = st.builds(job, st.sampled_from("abc"), released=st.booleans(), order=st.integers(1, 9))
names = st.sampled_from(["a/0", "a/1", "b/0", "c/0"])
rings = st.builds(ring, names, st.integers(1, 9), st.sampled_from(["ACTIVE", "RELEASED"]))
overlays = st.builds(StoredOverlay, st.sampled_from(["n1", "n2"]), st.sampled_from(["", "cordoned", "draining"]))
conduct = st.builds(StoredConduct, st.sampled_from(["n1", "n2"]), st.sampled_from([(), (1.0,), (1.0, 2.0)]))
hops = st.builds(StoredHop, st.sampled_from(["n1+1", "n2+2"]), st.sampled_from([None, 5.0]))
records = st.builds(
    Persist,
    st.lists(jobs, max_size=2).map(tuple),
    st.lists(rings, max_size=3).map(tuple),
    st.lists(overlays, max_size=2).map(tuple),
    st.lists(conduct, max_size=2).map(tuple),
    st.lists(hops, max_size=2).map(tuple),
    st.sampled_from([None, StoredHold("paused"), StoredHold(tripped="many")]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 3),
)


@given(st.lists(records, max_size=8), st.lists(records, max_size=8), st.lists(records, max_size=8))
def test_records_that_waited_give_the_same_as_records_written_one_by_one(before, lost, since):
    unwritten = Unwritten(10)
    for record in lost:
        unwritten.keep(record)
    batch = unwritten.take()  # a write that fails, while more comes
    for record in since:
        unwritten.keep(record)
    unwritten.give_back(batch)
    written = unwritten.take().persist
    assert stored([*before, *written]) == stored([*before, *lost, *since])
    assert sum(len(record.jobs) for record in written) <= 2 * 3
    assert sum(len(record.rings) for record in written) <= 4


def test_a_job_released_and_submitted_again_leaves_no_ring_of_the_former_one():
    unwritten = Unwritten(10)
    unwritten.keep(Persist(jobs=(job("a", released=True),)))
    unwritten.keep(Persist(jobs=(job("a", order=2),), rings=(ring("a/0"),)))
    old = [Persist(jobs=(job("a"),), rings=(ring("a/0", 7), ring("a/1", 7)))]
    kept, rings_kept, *_ = stored([*old, *unwritten.take().persist])
    assert kept == {"a": job("a", order=2)}
    assert rings_kept == {"a/0": ring("a/0")}


def test_nothing_is_an_empty_batch():
    unwritten = Unwritten(10)
    assert not unwritten.take()
    unwritten.keep(Persist(reserved=5))
    assert unwritten.take().persist == [Persist(reserved=5)]
    assert not unwritten.take()


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_oldest_events_are_dropped_and_counted_and_the_order_stays(lost, since):
    unwritten = Unwritten(20)
    unwritten.log(event(number) for number in range(lost))
    batch = unwritten.take()
    for number in range(lost, lost + since):
        unwritten.log([event(number)])
    unwritten.give_back(batch)
    kept = [logged.event.sequence for logged in unwritten.take().events]
    assert kept == list(range(lost + since))[-20:]
    assert unwritten.events_dropped == max(0, lost + since - 20)
