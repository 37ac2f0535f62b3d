"""150 whole fabrics in virtual time, with everything that can go wrong: nothing that must never be, ever is.

A failing seed prints the command that repeats it. ``ringlight simulate`` runs more of them; ``make soak`` goes on until
one fails.
"""

import pytest

from ringlight.simulator.operations import WITH_AUDITS
from ringlight.simulator.runner import Case, run

SEEDS = 150
AUDITED_SEEDS = 30
OPERATIONS = 150


@pytest.mark.parametrize("seed", range(SEEDS), ids=lambda seed: f"seed-{seed}")
def test_nothing_goes_wrong(seed):
    case = Case(seed, nodes=0, operations=OPERATIONS)
    verdict = run(case)
    assert verdict.good, f"{verdict.problems}\nrepeat it with: {case.command}"
    assert verdict.false_bypasses == 0


@pytest.mark.parametrize("seed", range(AUDITED_SEEDS), ids=lambda seed: f"seed-{seed}")
def test_nothing_goes_wrong_while_people_audit_the_cabling(seed):
    verdict = run(Case(seed, nodes=0, operations=OPERATIONS), weights=WITH_AUDITS)
    assert verdict.good, verdict.problems
    assert verdict.false_bypasses == 0
