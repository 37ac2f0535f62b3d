"""What is wrong with GPUs: when an XID opens, and what alone ends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.gpu import recovery
from ringlight.agents.gpu.ledger import GpuReading, Ledger, differences
from ringlight.agents.ports import FaultClosed, FaultOpened
from ringlight.controller.health.gpu_policy import Circumstances, is_of_gpus, rule
from ringlight.controller.health.gpu_settings import GpuSettings
from ringlight.fabric.circuits import FaultClass

SETTLED = 10.0
CALM = GpuReading(action=recovery.NONE)
MUTE = GpuReading()  # of a driver that knows no recovery actions
WANTS_RESET = GpuReading(action="gpu-reset")
WANTS_REBOOT = GpuReading(action="node-reboot")
GONE = GpuReading(gone="NVML says it is lost")


@pytest.fixture
def ledger():
    return Ledger(SETTLED)


def codes(ledger):
    return {fault_id: (fault.code, fault.recovery) for fault_id, fault in ledger.faults().items()}


def judged(ledger):
    """The gravest class that the controller gives, as soon as it hears of them."""
    rulings = [rule(fault, Circumstances(0.0), 0.0, GpuSettings()) for fault in ledger.faults().values()]
    return max((ruling.fault_class for ruling in rulings), default=None)


def test_an_xid_is_over_when_the_driver_has_said_long_enough_that_nothing_is_to_be_done(ledger):
    ledger.look({0: CALM}, 0.0)
    ledger.xid(0, 94, 100.0)
    assert codes(ledger) == {"gpu0:xid94": ("xid:94", "")}
    ledger.look({0: CALM}, 109.9)  # calm for long, but not since the XID
    assert codes(ledger)
    ledger.look({0: CALM}, 110.0)
    assert codes(ledger) == {}


def test_an_xid_that_wants_a_reset_is_over_after_the_reset(ledger):
    ledger.xid(3, 48, 0.0)
    ledger.look({3: WANTS_RESET}, 1.0)
    assert codes(ledger) == {"gpu3:xid48": ("xid:48", "gpu-reset"), "gpu3:xid154": ("xid:154", "gpu-reset")}
    ledger.look({3: WANTS_RESET}, 500.0)
    ledger.look({3: CALM}, 501.0)
    assert codes(ledger) == {"gpu3:xid48": ("xid:48", "")}
    ledger.look({3: CALM}, 510.9)
    assert codes(ledger)
    ledger.look({3: CALM}, 511.0)
    assert codes(ledger) == {}


def test_a_driver_that_knows_no_actions_ends_nothing(ledger):
    ledger.xid(0, 48, 0.0)
    ledger.look({0: MUTE}, 1.0)
    ledger.look({0: MUTE}, 1_000_000.0)
    assert codes(ledger) == {"gpu0:xid48": ("xid:48", "")}


def test_calm_must_not_be_interrupted(ledger):
    ledger.xid(0, 48, 0.0)
    for interruption in (
        lambda now: ledger.look({0: WANTS_RESET}, now),
        lambda now: ledger.look({0: MUTE}, now),
        lambda now: ledger.look({}, now),
        lambda _: ledger.interrupted(),
    ):
        ledger.look({0: CALM}, 100.0)
        interruption(105.0)
        ledger.look({0: CALM}, 109.0)
        ledger.look({0: CALM}, 118.9)
        assert "gpu0:xid48" in codes(ledger)
        ledger.interrupted()
    ledger.look({0: CALM}, 200.0)
    ledger.look({0: CALM}, 210.0)
    assert codes(ledger) == {}


def test_a_gpu_that_was_gone_and_answers_again_was_initialised_anew(ledger):
    ledger.xid(0, 79, 0.0)
    ledger.look({0: GONE, 1: CALM}, 1.0)
    assert codes(ledger) == {"gpu0:xid79": ("xid:79", ""), "gpu0:lost": ("gpu-lost", "")}
    assert judged(ledger) is FaultClass.FATAL
    ledger.look({0: GONE, 1: CALM}, 10_000.0)
    assert len(codes(ledger)) == 2
    ledger.look({0: MUTE, 1: CALM}, 10_001.0)
    assert codes(ledger) == {}


def test_what_the_driver_wants_is_the_authority(ledger):
    ledger.xid(0, 95, 0.0)
    assert judged(ledger) is FaultClass.DEGRADED  # a reset is given its time
    ledger.look({0: WANTS_REBOOT}, 1.0)
    assert judged(ledger) is FaultClass.FATAL
    ledger.look({0: CALM}, 2.0)
    ledger.look({0: CALM}, 12.0)
    assert judged(ledger) is None


def test_what_is_wanted_is_told_of_without_any_xid(ledger):
    ledger.look({0: WANTS_REBOOT}, 0.0)  # as after a restart of the agent
    assert codes(ledger) == {"gpu0:xid154": ("xid:154", "node-reboot")}
    ledger.look({0: CALM}, 1.0)
    assert codes(ledger) == {}


def test_rows_that_cannot_be_replaced(ledger):
    ledger.look({2: GpuReading(action=recovery.NONE, remap_pending=True, remap_failed=False)}, 0.0)
    assert codes(ledger) == {"gpu2:remap-pending": ("xid:63", "")}
    assert judged(ledger) is FaultClass.DEGRADED
    ledger.look({2: GpuReading(remap_pending=None, remap_failed=True)}, 1.0)
    assert sorted(codes(ledger)) == ["gpu2:remap-failed", "gpu2:remap-pending"]
    assert judged(ledger) is FaultClass.FATAL
    ledger.look({2: GpuReading(remap_pending=False, remap_failed=False)}, 2.0)
    assert codes(ledger) == {}


def test_gpus_that_are_missing(ledger):
    ledger.look({0: CALM}, 0.0, missing="1 of 2 GPUs are there")
    assert codes(ledger) == {"gpus:missing": ("gpu-lost", "")}
    assert judged(ledger) is FaultClass.FATAL
    ledger.look({0: CALM, 1: CALM}, 1.0)
    assert codes(ledger) == {}


def test_an_unknown_action_is_no_reason_to_kill_a_job(ledger):
    ledger.look({0: GpuReading(action=recovery.action_of(99))}, 0.0)
    assert codes(ledger) == {"gpu0:xid154": ("xid:154", "action-99")}
    assert judged(ledger) is FaultClass.DEGRADED


READINGS = st.sampled_from([CALM, MUTE, WANTS_RESET, WANTS_REBOOT, GONE, GpuReading(remap_pending=True), None])
STEPS = st.lists(
    st.tuples(st.floats(0.1, 20.0), st.one_of(READINGS, st.sampled_from([48, 79, 94]))), min_size=1, max_size=40
)


@given(STEPS)
def test_an_xid_ends_by_an_explicit_sign_and_nothing_else(steps):
    ledger = Ledger(SETTLED)
    now, told, was_gone = 0.0, {}, False
    calm_since = seen_at = None
    for pause, step in steps:
        now += pause
        before = {one for one in ledger.faults() if "xid" in one and one != "gpu0:xid154"}
        if isinstance(step, int):
            ledger.xid(0, step, now)
            seen_at = now
        else:
            ledger.look({} if step is None else {0: step}, now)
            calm_since = (now if calm_since is None else calm_since) if step == CALM else None
        after = {one for one in ledger.faults() if "xid" in one and one != "gpu0:xid154"}
        if before - after:
            answers_again = was_gone and isinstance(step, GpuReading) and not step.gone
            is_settled = calm_since is not None and now - calm_since >= SETTLED
            assert answers_again or is_settled
        if isinstance(step, GpuReading):
            was_gone = bool(step.gone)
        if calm_since is not None and seen_at is not None and now - max(calm_since, seen_at) >= SETTLED:
            assert not after
        # Whoever hears only the differences knows the same.
        for event in differences(told, ledger.faults()):
            if isinstance(event, FaultOpened):
                told = told | {event.fault.id: event.fault}
            else:
                assert isinstance(event, FaultClosed)
                told = {one: fault for one, fault in told.items() if one != event.fault_id}
        assert told == ledger.faults()
        assert all(is_of_gpus(fault) for fault in told.values())
