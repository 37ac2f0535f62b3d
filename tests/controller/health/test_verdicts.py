"""The decision table of verdicts, row by row."""

from itertools import product

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


WITNESS = {"witness": "an operator says it is dead"}
OVERDUE = {"overdue": True}
LATCHED = {"failed_on": BYPASSED}

MORE = [
    # While the controller may be deaf, silence alone and what a rule says of it count for nothing; a word does.
    (Speech.DOUBTED, {}, NeighbourLight.DARK, Verdict.UNKNOWN),
    (Speech.DOUBTED, {}, NeighbourLight.PRESENT, Verdict.UNKNOWN),
    (Speech.DOUBTED, OVERDUE, NeighbourLight.PRESENT, Verdict.UNKNOWN),
    (Speech.DOUBTED, WITNESS, NeighbourLight.PRESENT, Verdict.FAILED),
    (Speech.DOUBTED, LATCHED, NeighbourLight.NONE_EXPECTED, Verdict.FAILED),
    (Speech.DOUBTED, LATCHED, NeighbourLight.PRESENT, Verdict.UNKNOWN),
    (Speech.SUSPECT, WITNESS, NeighbourLight.PRESENT, Verdict.FAILED),
    (Speech.SUSPECT, OVERDUE, NeighbourLight.PRESENT, Verdict.SUSPECT),
    (Speech.SUSPECT, LATCHED, NeighbourLight.NONE_EXPECTED, Verdict.FAILED),
    (Speech.SILENT, WITNESS, NeighbourLight.PRESENT, Verdict.FAILED),
    (Speech.SILENT, WITNESS, NeighbourLight.NO_WITNESS, Verdict.FAILED),
    (Speech.SILENT, WITNESS, NeighbourLight.NONE_EXPECTED, Verdict.FAILED),
    (Speech.SILENT, OVERDUE, NeighbourLight.PRESENT, Verdict.FAILED),
    (Speech.SILENT, OVERDUE, NeighbourLight.NO_WITNESS, Verdict.FAILED),
    (Speech.SILENT, LATCHED, NeighbourLight.NO_WITNESS, Verdict.FAILED),
    # Who speaks is alive, whatever others say, and nobody is dead who was not heard yet.
    (Speech.SPEAKS, WITNESS | OVERDUE | LATCHED, NeighbourLight.DARK, Verdict.HEALTHY),
    (Speech.AWAITED, WITNESS | OVERDUE, NeighbourLight.DARK, Verdict.UNKNOWN),
]


@pytest.mark.parametrize(("speech", "more", "light", "verdict"), MORE)
def test_doubt_witnesses_rules_and_former_failures(speech, more, light, verdict):
    assert judge(Evidence(speech, [], light, **more)).verdict is verdict


@pytest.mark.parametrize(
    ("more", "ground"),
    [
        (WITNESS, Ground.WITNESS),
        (OVERDUE, Ground.RULE),
        (LATCHED, Ground.DARKNESS),
        (WITNESS | LATCHED, Ground.WITNESS),
    ],
)
def test_what_a_failure_rests_on_is_named(more, ground):
    judgement = judge(Evidence(Speech.SILENT, [], NeighbourLight.NONE_EXPECTED, **more))
    assert ground in judgement.grounds
    assert Ground.REPORT not in judgement.grounds


@pytest.mark.parametrize(("speech", "faults", "light", "verdict"), TABLE)
def test_the_table(speech, faults, light, verdict):
    assert judge(Evidence(speech, faults, light)).verdict is verdict


def test_a_failed_node_always_has_a_ground_beside_silence():
    faults = ([], [INFO], [DEGRADED], [FATAL])
    failed = 0
    for evidence in product(Speech, faults, NeighbourLight, (frozenset(), BYPASSED), ("", "a person"), (True, False)):
        judgement = judge(Evidence(*evidence))
        if judgement.verdict is Verdict.FAILED:
            failed += 1
            assert judgement.grounds - {Ground.SILENCE, Ground.TIME}, evidence
    assert failed


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
