"""The decision table of verdicts, row by row."""

import pytest

from ringlight.controller.health.verdicts import (
    Evidence,
    Ground,
    NeighbourLight,
    Speech,
    Verdict,
    judge,
)
from ringlight.fabric.circuits import Fault, FaultClass

FATAL = Fault("f1", "gpu0", FaultClass.FATAL, "gpu-lost")
DEGRADED = Fault("f2", "gpu1", FaultClass.DEGRADED, "xid:63")
INFO = Fault("f3", "gpu2", FaultClass.INFO, "xid:43")

BYPASSED = frozenset({Ground.SILENCE, Ground.DARKNESS})

TABLE = [
    (Speech.SPEAKS, [FATAL], NeighbourLight.PRESENT, Verdict.FAILED),
    (Speech.SPEAKS, [FATAL, DEGRADED], NeighbourLight.DARK, Verdict.FAILED),
    (Speech.SPEAKS, [], NeighbourLight.PRESENT, Verdict.HEALTHY),
    (Speech.SPEAKS, [], NeighbourLight.DARK, Verdict.HEALTHY),
    (Speech.SPEAKS, [INFO], NeighbourLight.PRESENT, Verdict.HEALTHY),
    (Speech.SPEAKS, [DEGRADED], NeighbourLight.PRESENT, Verdict.DEGRADED),
    (Speech.SUSPECT, [], NeighbourLight.DARK, Verdict.SUSPECT),
    (Speech.SILENT, [], NeighbourLight.DARK, Verdict.FAILED),
    (Speech.SILENT, [], NeighbourLight.PRESENT, Verdict.UNREACHABLE),
    (Speech.SILENT, [], NeighbourLight.NO_WITNESS, Verdict.UNKNOWN),
    (Speech.SILENT, [], NeighbourLight.NONE_EXPECTED, Verdict.UNREACHABLE),
    (Speech.SILENT, [FATAL], NeighbourLight.PRESENT, Verdict.FAILED),
    (Speech.AWAITED, [], NeighbourLight.DARK, Verdict.UNKNOWN),
]


@pytest.mark.parametrize(("speech", "faults", "light", "verdict"), TABLE)
def test_the_table(speech, faults, light, verdict):
    assert judge(Evidence(speech, faults, light)).verdict is verdict


def test_a_failed_node_always_has_a_ground_beside_silence():
    for speech in Speech:
        for light in NeighbourLight:
            for faults in ([], [INFO], [DEGRADED], [FATAL]):
                for failed_on in (frozenset(), BYPASSED):
                    judgement = judge(Evidence(speech, faults, light, failed_on=failed_on))
                    if judgement.verdict is Verdict.FAILED:
                        assert judgement.grounds - {Ground.SILENCE, Ground.TIME}


def test_a_bypassed_node_stays_failed_until_it_speaks():
    silent = Evidence(Speech.SILENT, [], NeighbourLight.NONE_EXPECTED, failed_on=BYPASSED)
    assert judge(silent).verdict is Verdict.FAILED
    spoken = Evidence(Speech.SPEAKS, [], NeighbourLight.NONE_EXPECTED, failed_on=BYPASSED, probation="well again")
    assert judge(spoken).verdict is Verdict.PROBATION


def test_light_that_is_seen_outweighs_an_earlier_failure():
    evidence = Evidence(Speech.SILENT, [], NeighbourLight.PRESENT, failed_on=BYPASSED)
    assert judge(evidence).verdict is Verdict.UNREACHABLE


def test_the_reason_names_the_part():
    assert "gpu0" in judge(Evidence(Speech.SPEAKS, [FATAL], NeighbourLight.PRESENT)).reason
