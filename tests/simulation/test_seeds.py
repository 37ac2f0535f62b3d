"""150 whole fabrics in virtual time, with everything that can go wrong: nothing that must never be, ever is.

A failing seed prints the command that repeats it. ``ringlight simulate`` runs more of them; ``make soak`` goes on until
one fails.
"""

import pytest

from ringlight.simulator.runner import Case, run

SEEDS = 150
OPERATIONS = 150


@pytest.mark.parametrize("seed", range(SEEDS), ids=lambda seed: f"seed-{seed}")
def test_nothing_goes_wrong(seed):
    case = Case(seed, nodes=0, operations=OPERATIONS)
    verdict = run(case)
    assert verdict.good, f"{verdict.problems}\nrepeat it with: {case.command}"
    assert verdict.false_bypasses == 0
