"""The cross-ToR study, on small fabrics."""

import pytest

from ringlight.controller.studies.cross_tor import HOPS, NODES_A_RACK, Case, cases, measure, study


def test_cases_cover_every_curve():
    asked = cases(nodes=64, seeds=[3, 4], fault_rates=[0.0, 0.05])
    assert {(case.nodes_a_rack, case.k) for case in asked} == {(p, k) for p in NODES_A_RACK for k in HOPS}
    assert len(asked) == len(NODES_A_RACK) * len(HOPS) * 2
    assert all(case.seeds == (3, 4) and case.nodes == 64 for case in asked)


@pytest.mark.parametrize("nodes_a_rack", NODES_A_RACK)
def test_without_faults_only_the_placement_that_regards_racks_is_aligned(nodes_a_rack):
    point = measure(Case(nodes_a_rack, 2, 0.0, 256, (0,)))
    assert point.aligned == 0
    assert point.rack_blind > 0.5
    assert point.placed == 1


@pytest.mark.parametrize("rate", [0.02, 0.06])
def test_on_average_regard_for_racks_pays(rate):
    point = measure(Case(2, 2, rate, 128, (0, 1, 2)))
    assert point.aligned < point.rack_blind


def test_what_does_not_fit_is_not_placed():
    point = measure(Case(2, 2, 0.5, 256, (0,)))
    assert 0 <= point.placed < 0.5


def test_processes_change_nothing_but_the_time():
    asked = cases(nodes=64, seeds=[0], fault_rates=[0.05])
    alone, together = (
        [(point.case, point.aligned, point.rack_blind, point.placed) for point in study(asked, processes=processes)]
        for processes in (1, 2)
    )
    assert alone == together


def test_racks_must_be_full():
    with pytest.raises(ValueError, match="65 nodes do not fill racks of 2"):
        measure(Case(2, 2, 0.0, 65, (0,)))
