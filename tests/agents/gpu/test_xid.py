import pytest

from ringlight.agents.gpu.xid import meaning
from ringlight.fabric.circuits import FaultClass


@pytest.mark.parametrize("xid", [48, 54, 62, 64, 79, 95, 119, 120, 140, 143])
def test_what_only_a_reset_or_a_replacement_cures_is_fatal(xid: int) -> None:
    assert meaning(xid).fault_class is FaultClass.FATAL


@pytest.mark.parametrize("xid", [63, 74, 92, 93, 121, 144, 150])
def test_wear_and_link_errors_are_degraded(xid: int) -> None:
    assert meaning(xid).fault_class is FaultClass.DEGRADED


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 94, 163])
def test_the_faults_of_a_program_say_nothing_against_the_gpu(xid: int) -> None:
    assert meaning(xid).fault_class is FaultClass.INFO


@pytest.mark.parametrize("xid", [0, 1, 999, 10**9])
def test_an_unknown_xid_kills_no_job(xid: int) -> None:
    assert meaning(xid).fault_class is FaultClass.DEGRADED
    assert meaning(xid).name


def test_every_xid_has_a_name() -> None:
    assert all(meaning(xid).name for xid in range(200))
