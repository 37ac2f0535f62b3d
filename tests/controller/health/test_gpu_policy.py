"""How grave a GPU's fault is: the driver's word, the catalogue, the site's last word; and time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.controller.health.gpu_policy import (
    Circumstances,
    Seen,
    cancelled_by,
    is_of_gpus,
    may_be_consequence,
    rule,
    xid_of,
)
from ringlight.controller.health.gpu_settings import GpuSettings
from ringlight.controller.health.xid_catalogue import RECOVERY_ACTIONS, XIDS, XidKind
from ringlight.fabric.circuits import Fault, FaultClass

DEFAULTS = GpuSettings()
AT = 1_000.0


def xid(number, *, recovery="", component="gpu1"):
    return Fault(f"f{number}", component, FaultClass.DEGRADED, f"xid:{number}", recovery=recovery)


def ruled(fault, now=AT, settings=DEFAULTS, **circumstances):
    return rule(fault, Circumstances(AT, **circumstances), now, settings)


FIRST = {
    XidKind.IGNORE: FaultClass.INFO,
    XidKind.INFO: FaultClass.INFO,
    XidKind.LINK: FaultClass.DEGRADED,
    XidKind.DEGRADED: FaultClass.DEGRADED,
    XidKind.RECOVERABLE: FaultClass.DEGRADED,
    XidKind.FATAL: FaultClass.FATAL,
}


@pytest.mark.parametrize("number", sorted(XIDS))
def test_the_catalogue_row_by_row(number):
    ruling = ruled(xid(number))
    assert ruling.fault_class is FIRST[XIDS[number].kind]
    assert XIDS[number].name in ruling.reason


@pytest.mark.parametrize("number", [64, 54, 79])
def test_what_nobody_can_cure_is_fatal(number):
    assert ruled(xid(number)).fault_class is FaultClass.FATAL


def test_an_unknown_number_kills_no_job():
    assert ruled(xid(999)).fault_class is FaultClass.DEGRADED


@pytest.mark.parametrize("action", sorted(RECOVERY_ACTIONS))
def test_the_drivers_word_comes_before_the_catalogue(action):
    """Whatever number it comes with."""
    for number in (13, 63, 79, 154):
        assert ruled(xid(number, recovery=action)).fault_class is FIRST[RECOVERY_ACTIONS[action]]


def test_the_site_has_the_last_word():
    settings = GpuSettings(overrides={"xid:79": "ignore", "xid:63": "fatal"})
    assert ruled(xid(79), settings=settings).fault_class is FaultClass.INFO
    assert ruled(xid(79, recovery="node-reboot"), settings=settings).fault_class is FaultClass.INFO
    assert ruled(xid(63), settings=settings).fault_class is FaultClass.FATAL


@given(st.sampled_from(sorted(XIDS)), st.sampled_from(["", *RECOVERY_ACTIONS]), st.floats(0, 1e6))
def test_a_site_that_ignores_a_number_never_makes_it_worse(number, recovery, later):
    fault, settings = xid(number, recovery=recovery), GpuSettings(overrides={f"xid:{number}": "ignore"})
    assert ruled(fault, now=AT + later, settings=settings).fault_class is FaultClass.INFO


def test_a_reset_is_given_its_time_and_no_more():
    ruling = ruled(xid(119))
    assert (ruling.fault_class, ruling.look_again_at) == (FaultClass.DEGRADED, AT + 60)
    assert ruled(xid(119), now=AT + 59.9).fault_class is FaultClass.DEGRADED
    late = ruled(xid(119), now=AT + 60)
    assert (late.fault_class, late.look_again_at) == (FaultClass.FATAL, None)
    assert "no reset cured it" in late.reason


def test_a_reset_that_had_to_be_repeated_is_no_cure():
    seen = [Seen(AT - 3_000, "gpu1", 95), Seen(AT - 10, "gpu1", 95), Seen(AT, "gpu1", 95)]
    assert ruled(xid(95), seen=seen).fault_class is FaultClass.FATAL
    other_gpu = [Seen(AT - 3_000, "gpu0", 95), Seen(AT - 10, "gpu1", 95), Seen(AT, "gpu1", 95)]
    assert ruled(xid(95), seen=other_gpu).fault_class is FaultClass.DEGRADED
    long_ago = [Seen(AT - 3_601, "gpu1", 95), Seen(AT - 10, "gpu1", 95), Seen(AT, "gpu1", 95)]
    assert ruled(xid(95), seen=long_ago).fault_class is FaultClass.DEGRADED


@pytest.mark.parametrize(
    ("switched", "expected"), [(AT - 4.9, True), (AT + 0.9, True), (AT - 5.1, False), (None, False)]
)
def test_link_errors_are_expected_while_circuits_are_switched(switched, expected):
    for number in (74, 136, 144, 150):
        ruling = ruled(xid(number), switched_at=switched)
        assert ruling.fault_class is (FaultClass.INFO if expected else FaultClass.DEGRADED)
        assert ("expected" in ruling.reason) is expected


def test_other_errors_are_never_expected():
    assert ruled(xid(79), switched_at=AT).fault_class is FaultClass.FATAL
    assert ruled(xid(119), switched_at=AT).fault_class is FaultClass.DEGRADED


def test_a_consequence_is_put_off_and_then_judged_by_itself():
    ruling = ruled(xid(74), explained_until=AT + 10)
    assert (ruling.fault_class, ruling.look_again_at) == (FaultClass.INFO, AT + 10)
    assert ruled(xid(74), now=AT + 10, explained_until=AT + 10).fault_class is FaultClass.DEGRADED


def test_a_cause_is_never_a_consequence():
    for number in (54, 64, 79):
        assert not may_be_consequence(xid(number), DEFAULTS)
        assert ruled(xid(number), explained_until=AT + 10).fault_class is FaultClass.FATAL
    lost = Fault("f", "gpu0", FaultClass.FATAL, "gpu-lost")
    assert not may_be_consequence(lost, DEFAULTS)
    assert ruled(lost, explained_until=AT + 10).fault_class is FaultClass.FATAL


def test_faults_without_a_number_are_as_grave_as_they_are_reported():
    for fault_class in FaultClass:
        assert ruled(Fault("f", "b0.m1", fault_class, "module-dead")).fault_class is fault_class


def test_an_xid_45_marks_nobody_alone_or_not():
    alone = ruled(xid(45), seen=[Seen(AT, "gpu1", 45)])
    assert alone.fault_class is FaultClass.INFO
    follows = ruled(xid(45), seen=[Seen(AT - 2, "gpu1", 13), Seen(AT, "gpu1", 45)])
    assert follows.fault_class is FaultClass.INFO
    assert "follows another fault" in follows.reason
    assert "follows another fault" not in alone.reason


def circumstances():
    """Whatever else can be known."""
    times = st.floats(AT - 20, AT + 20)
    seen = st.lists(st.builds(Seen, times, st.sampled_from(["gpu0", "gpu1"]), st.sampled_from([13, 45, 74, 79, 119])))
    return st.builds(Circumstances, st.just(AT), seen, st.none() | times, st.none() | times)


@given(st.sampled_from(sorted(XIDS)), st.sampled_from(["", *RECOVERY_ACTIONS]), circumstances(), st.floats(0, 1e6))
def test_what_the_site_calls_fatal_is_fatal_whatever_else_is_known(number, recovery, around, later):
    """An XID 45 among others, too."""
    settings = GpuSettings(overrides={f"xid:{number}": "fatal"})
    assert rule(xid(number, recovery=recovery), around, AT + later, settings).fault_class is FaultClass.FATAL


@given(st.sampled_from(sorted(XIDS)), circumstances(), st.floats(0, 1e6))
def test_a_driver_that_asks_for_a_reboot_is_believed_whatever_else_is_known(number, around, later):
    assert rule(xid(number, recovery="node-reboot"), around, AT + later, DEFAULTS).fault_class is FaultClass.FATAL


@given(st.sampled_from(sorted(XIDS)), st.sampled_from(["", *RECOVERY_ACTIONS]), circumstances(), st.floats(0, 1e6))
def test_what_time_alone_may_change_is_looked_at_again_and_nothing_else_is(number, recovery, around, later):
    fault = xid(number, recovery=recovery)
    first = rule(fault, around, AT, DEFAULTS)
    until = AT + later if first.look_again_at is None else min(AT + later, first.look_again_at - 1e-6)
    assert rule(fault, around, max(AT, until), DEFAULTS).fault_class is first.fault_class


def test_only_the_source_of_gpu_health_can_tell_that_a_gpu_is_well_again():
    assert is_of_gpus(xid(79))
    assert is_of_gpus(xid(79, component="node"))
    assert is_of_gpus(Fault("f", "gpu3", FaultClass.FATAL, "gpu-lost"))
    assert not is_of_gpus(Fault("f", "b0.m1", FaultClass.FATAL, "module-dead"))


def test_an_xid_45_among_others_is_what_the_driver_and_the_site_say_it_is():
    seen = [Seen(AT - 2, "gpu1", 13), Seen(AT, "gpu1", 45)]
    assert ruled(xid(45, recovery="node-reboot"), seen=seen).fault_class is FaultClass.FATAL
    assert (
        ruled(xid(45), seen=seen, settings=GpuSettings(overrides={"xid:45": "fatal"})).fault_class is FaultClass.FATAL
    )
    degraded = GpuSettings(overrides={"xid:45": "degraded"})
    assert ruled(xid(45), seen=seen, settings=degraded).fault_class is FaultClass.DEGRADED


def test_162_takes_163_back():
    assert cancelled_by(xid(162)) == "xid:163"
    assert cancelled_by(xid(163)) == ""


def test_numbers_of_faults():
    assert xid_of(xid(79)) == 79
    for code in ("gpu-lost", "xid:", "xid:x", "79"):
        assert xid_of(Fault("f", "gpu0", FaultClass.FATAL, code)) is None


@pytest.mark.parametrize("code", ["79", "xid:0", "xid:x", "xid:12345", "gpu-lost"])
def test_an_override_of_what_is_no_code_is_refused(code):
    with pytest.raises(ValueError, match="is not a code such as xid:79"):
        GpuSettings(overrides={code: "fatal"})
