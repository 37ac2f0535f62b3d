"""An audit over the emulated fibre plant: what it finds is what lies there."""

from collections.abc import Callable, Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlight.controller.audit.audit import Ask, Audit, Lay, Look, Pace, Step
from ringlight.controller.audit.findings import FindingKind, Report
from ringlight.controller.audit.rounds import plan_rounds
from ringlight.emulator.faults import FaultKind, FaultRequest
from ringlight.emulator.plant import Plant
from ringlight.fabric.circuits import OpticalPower, Path
from ringlight.fabric.spec import (
    FabricSpec,
    Fibre,
    NodeSpec,
    Port,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
)
from ringlight.fabric.wiring import Wiring

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2
PACE = Pace(answer=1.0, settle=0.1, look=2.0, told_node=0.01)
LIMIT = 3.0


def wiring_of(size: int, distances: tuple[int, ...] = (1, 2), *, closed: bool = True) -> Wiring:
    nodes = tuple(NodeSpec(f"n{number}") for number in range(size))
    fibres = fibres_of_port_map(default_port_map(distances), size, closed=closed)
    return Wiring(FabricSpec("lab", distances, closed, 4, default_bundles(len(distances), 4), nodes, fibres))


class Lab:
    """An audit and the plant that it lights, in virtual time."""

    def __init__(self, plant: Plant, members: Collection[int] | None = None) -> None:
        self.plant = plant
        self.audit = Audit(plant.wiring, sorted(members or range(plant.wiring.size)), PACE)
        self.deaf: set[int] = set()
        self.blind: set[int] = set()
        self.now = 100.0

    def carry_out(self, steps: list[Step]) -> None:
        for step in steps:
            match step:
                case Lay():
                    for position, table in step.tables.items():
                        if position in self.deaf:
                            continue
                        for bundle, path in enumerate(table):
                            self.plant.select(position, bundle, path)
                        self.carry_out(self.audit.answered(position, self.now))
                case Ask():
                    for position in step.positions:
                        if position not in self.blind:
                            self.carry_out(self.audit.seen(position, self.look(position), self.now))

    def look(self, position: int) -> Look:
        reading = self.plant.read(position)
        powers = {port: OpticalPower(*power) for port, power in self.plant.powers(position).items()}
        return Look(reading.circuits, reading.light, powers)

    def step(self) -> bool:
        if self.audit.deadline is None:
            return False
        self.now = self.audit.deadline
        self.carry_out(self.audit.tick(self.now))
        return True

    def run(self) -> Report:
        self.carry_out(self.audit.begin(self.now))
        while self.step():
            pass
        assert self.audit.is_over
        return self.audit.report(LIMIT)

    def fail(self, kind: FaultKind, node: str, distance: int = 1, **more: object) -> None:
        self.plant.inject(FaultRequest(kind, node, distance=distance, **more))  # type: ignore[arg-type]


@pytest.fixture
def lab() -> Lab:
    return Lab(Plant(wiring_of(8), "boot"))


def fibres(report: Report) -> set[frozenset[Port]]:
    return {frozenset((found.fibre.a, found.fibre.b)) for found in report.fibres}


def of(fibre: Fibre) -> frozenset[Port]:
    return frozenset((fibre.a, fibre.b))


def test_a_fabric_that_is_cabled_as_its_file_says_has_no_findings(lab: Lab) -> None:
    report = lab.run()
    assert report.findings == ()
    assert [found.fibre for found in report.fibres] == sorted(lab.plant.wiring.spec.fibres, key=lambda f: (f.a, f.b))
    assert all(found.audited and found.loss == pytest.approx(0.5) for found in report.fibres)


@pytest.mark.parametrize(("nodes", "rounds"), [(8, 10), (64, 16), (10_000, 32)])
def test_rounds_grow_with_the_logarithm_of_the_bundles(nodes: int, rounds: int) -> None:
    assert len(plan_rounds(wiring_of(nodes), range(nodes))) == rounds


@pytest.mark.parametrize("distances", [(1,), (1, 2), (1, 2, 3), (1, 2, 4, 8)])
@pytest.mark.parametrize("closed", [True, False])
def test_only_what_is_cabled_is_selected(distances: tuple[int, ...], closed: bool) -> None:
    wiring = wiring_of(17, distances, closed=closed)
    for tables in plan_rounds(wiring, range(17)):
        assert all(wiring.accepts(position, table) for position, table in tables.items())


def test_nothing_can_be_lit_with_a_single_bundle() -> None:
    wiring = wiring_of(3, (1,), closed=False)
    assert plan_rounds(wiring, [0]) == []
    audit = Audit(wiring, [0], PACE)
    assert audit.begin(1.0) == []
    assert audit.is_over


def test_exchanged_ends_are_named_with_both_fibres(lab: Lab) -> None:
    lab.fail(FaultKind.FIBRE_SWAPPED, "n3", partner="n5+1")
    report = lab.run()
    assert [finding.kind for finding in report.findings] == [FindingKind.SWAPPED, FindingKind.SWAPPED]
    assert [finding.text for finding in report.findings] == [
        "a fibre joins n3/b0.p1 with n6/b1.p1; the file has n3/b0.p1 with n4/b1.p1, n6/b1.p1 with n5/b0.p1",
        "a fibre joins n4/b1.p1 with n5/b0.p1; the file has n4/b1.p1 with n3/b0.p1, n5/b0.p1 with n6/b1.p1",
    ]
    assert frozenset((Port(3, 0, P1), Port(6, 1, P1))) in fibres(report)


def test_a_cut_fibre_is_missing(lab: Lab) -> None:
    lab.fail(FaultKind.FIBRE_CUT, "n3", 2)
    report = lab.run()
    (finding,) = report.findings
    assert (finding.kind, finding.ports) == (FindingKind.MISSING, (Port(3, 0, P2), Port(5, 1, P2)))
    assert finding.text == "no light gets through n3+2, between n3/b0.p2 and n5/b1.p2"
    assert len(report.fibres) == 15


def test_a_fibre_that_is_exchanged_and_cut_leaves_two_dark_ends(lab: Lab) -> None:
    lab.fail(FaultKind.FIBRE_SWAPPED, "n3", partner="n5+1")
    lab.fail(FaultKind.FIBRE_CUT, "n3")  # the one that begins at n3, and now ends at n6
    report = lab.run()
    assert [(finding.kind, finding.ports) for finding in report.findings] == [
        (FindingKind.MISSING, (Port(3, 0, P1),)),
        (FindingKind.SWAPPED, (Port(4, 1, P1), Port(5, 0, P1))),
        (FindingKind.MISSING, (Port(6, 1, P1),)),
    ]


def test_a_dirty_fibre_is_named_with_its_loss(lab: Lab) -> None:
    lab.fail(FaultKind.FIBRE_DIRTY, "n3", loss=4.0)
    lab.fail(FaultKind.FIBRE_DIRTY, "n4", loss=1.0)
    report = lab.run()
    (finding,) = report.findings
    assert (finding.kind, finding.loss) == (FindingKind.DIRTY, pytest.approx(4.5))
    assert finding.text == "the fibre between n3/b0.p1 and n4/b1.p1 loses 4.5 dB"


def test_loss_that_nobody_measures_is_unknown(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab.plant, "powers", lambda _: {})
    lab.fail(FaultKind.FIBRE_DIRTY, "n3", loss=4.0)
    report = lab.run()
    assert report.findings == ()
    assert {found.loss for found in report.fibres} == {None}


def test_the_worse_direction_counts(lab: Lab) -> None:
    measure = lab.plant.powers
    weak = (4, (1, P1))  # node and port whose receiver gets less than the other end's

    def powers(position: int) -> dict[tuple[int, Path], tuple[float, float]]:
        measured = measure(position)
        if position == weak[0] and weak[1] in measured:
            sent, received = measured[weak[1]]
            measured[weak[1]] = sent, received - 5.0
        return measured

    lab.plant.powers = powers  # type: ignore[method-assign]
    (finding,) = lab.run().findings
    assert (finding.kind, finding.loss) == (FindingKind.DIRTY, pytest.approx(5.5))


def test_light_in_one_direction_only_is_told(lab: Lab) -> None:
    look = lab.look

    def half_blind(position: int) -> Look:
        seen = look(position)
        return Look(seen.circuits, {**seen.light, (1, P1): False}, seen.powers) if position == 4 else seen

    lab.look = half_blind  # type: ignore[method-assign]
    (finding,) = lab.run().findings
    assert (finding.kind, finding.ports) == (FindingKind.ONE_WAY, (Port(3, 0, P1), Port(4, 1, P1)))
    assert finding.text == "light gets from n4/b1.p1 to n3/b0.p1, and not back"


def test_light_that_follows_nothing_is_unclear(lab: Lab) -> None:
    look = lab.look

    def dazzled(position: int) -> Look:
        seen = look(position)
        return Look(seen.circuits, {**seen.light, (1, P1): True}, seen.powers) if position == 4 else seen

    lab.look = dazzled  # type: ignore[method-assign]
    kinds = {finding.kind for finding in lab.run().findings}
    assert kinds == {FindingKind.UNCLEAR}


def test_nodes_outside_are_not_touched_and_their_fibres_are_taken_from_the_file() -> None:
    lab = Lab(Plant(wiring_of(8), "boot"), members=[0, 1, 2, 3, 4])
    lab.fail(FaultKind.FIBRE_CUT, "n6")
    lab.fail(FaultKind.FIBRE_CUT, "n4")
    report = lab.run()
    assert report.findings == ()
    assert fibres(report) == {of(fibre) for fibre in lab.plant.wiring.spec.fibres}
    seen = {of(found.fibre) for found in report.fibres if found.audited}
    assert seen == {of(fibre) for fibre in lab.plant.wiring.spec.fibres if max(fibre.a.position, fibre.b.position) <= 4}
    assert all(lab.plant.table(position) == (L, L) for position in (5, 6, 7))


def test_who_does_not_switch_is_out_and_the_others_go_on(lab: Lab) -> None:
    lab.deaf.add(3)
    began = lab.now
    report = lab.run()
    assert lab.audit.left == {3: "it did not switch in time"}
    assert report.findings == ()
    assert {port.position for found in report.fibres if found.audited for port in (found.fibre.a, found.fibre.b)} == {
        0, 1, 2, 4, 5, 6, 7
    }  # fmt: skip
    assert len(report.fibres) == 16
    assert lab.now - began == pytest.approx(PACE.answer + 8 * PACE.told_node + 10 * PACE.settle)


def test_who_does_not_say_where_light_is_is_out(lab: Lab) -> None:
    lab.blind.add(3)
    report = lab.run()
    assert lab.audit.left == {3: "it did not say in time where light is"}
    assert report.findings == ()


def test_an_exchange_is_found_though_somebody_left_at_once(lab: Lab) -> None:
    lab.fail(FaultKind.FIBRE_SWAPPED, "n4", partner="n6+1")
    lab.deaf.add(1)
    report = lab.run()
    assert [(finding.kind, finding.ports) for finding in report.findings] == [
        (FindingKind.SWAPPED, (Port(4, 0, P1), Port(7, 1, P1))),
        (FindingKind.SWAPPED, (Port(5, 1, P1), Port(6, 0, P1))),
    ]
    by_file = {of(found.fibre) for found in report.fibres if not found.audited}
    assert by_file == {of(fibre) for fibre in lab.plant.wiring.spec.fibres if 1 in (fibre.a.position, fibre.b.position)}


@pytest.mark.parametrize(
    ("look", "why"),
    [
        (Look((), {}, {}), "it cannot be read"),
        (Look((P2, P2), {}, {}), "it does not select what it was told"),
    ],
)
def test_who_selects_something_else_is_out(lab: Lab, look: Look, why: str) -> None:
    usual = lab.look
    lab.look = lambda position: look if position == 2 else usual(position)  # type: ignore[method-assign]
    lab.run()
    assert lab.audit.left == {2: why}


def test_answers_out_of_season_mean_nothing(lab: Lab) -> None:
    audit = lab.audit
    (lay,) = audit.begin(1.0)
    assert isinstance(lay, Lay)
    assert audit.begin(1.0) == []
    assert audit.seen(0, lab.look(0), 1.0) == [], "nobody asked"
    assert audit.tick(1.0) == [], "not yet"
    for position in range(8):
        assert audit.answered(position, 1.0) == []
        assert audit.answered(position, 1.0) == []
    assert audit.deadline == pytest.approx(1.1)
    (ask,) = audit.tick(1.1)
    assert isinstance(ask, Ask)
    assert audit.answered(0, 1.1) == []
    assert audit.waiting == frozenset(range(8))
    assert audit.leave({9: "it was never in it"}, 1.1) == []
    assert 9 not in audit.left


def test_when_everybody_is_out_it_is_over(lab: Lab) -> None:
    lab.audit.begin(1.0)
    for position in range(8):
        lab.audit.leave({position: "needed elsewhere"}, 1.0)
    assert lab.audit.is_over
    assert lab.audit.deadline is None
    assert lab.audit.done == 0


# -- whatever is wrong ---------------------------------------------------------------------------------------------


@st.composite
def fabrics(draw: Callable[..., object]) -> Plant:
    distances = draw(st.sampled_from([(1,), (1, 2), (1, 2, 3), (1, 2, 4), (1, 3), (1, 2, 3, 4)]))
    closed = draw(st.booleans())
    size = draw(st.integers(2 * distances[-1] + 1 if closed else distances[-1] + 1, 14))
    plant = Plant(wiring_of(size, distances, closed=closed), "boot")
    hops = [hop.key for hop in plant.wiring.hops]
    for _ in range(draw(st.integers(0, 6))):
        key = draw(st.sampled_from(hops))
        kind = draw(st.sampled_from([FaultKind.FIBRE_CUT, FaultKind.FIBRE_DIRTY, FaultKind.FIBRE_SWAPPED]))
        partner = draw(st.sampled_from(hops))
        if kind is FaultKind.FIBRE_SWAPPED and partner == key:
            continue
        node, name = plant.wiring.name(key.position), plant.wiring.hop_name(partner)
        loss = draw(st.sampled_from([1.0, 3.0, 6.0]))
        plant.inject(FaultRequest(kind, node, distance=key.distance, partner=name, loss=loss))
    return plant


def lying(plant: Plant) -> dict[frozenset[Port], float]:
    """Every fibre that can be lit, and what it loses: worked out from the plant's own cabling."""
    found = {}
    for hop in plant.wiring.hops:
        fibre = plant.cabling.at(hop.low)
        assert fibre is not None
        same = (fibre.low.position, fibre.low.bundle) == (fibre.high.position, fibre.high.bundle)
        if not same and plant.cabling.is_whole(fibre) and plant.cabling.loss(fibre) <= 13:
            found[frozenset((fibre.low, fibre.high))] = plant.cabling.loss(fibre)
    return found


@settings(max_examples=200, deadline=None)
@given(fabrics())
def test_the_fibres_found_are_the_fibres_that_lie_there(plant: Plant) -> None:
    report = Lab(plant).run()
    there = lying(plant)
    assert fibres(report) == there.keys()
    for found in report.fibres:
        assert found.loss == pytest.approx(there[of(found.fibre)])
    planned = {of(fibre) for fibre in plant.wiring.spec.fibres}
    by_kind = {kind: [f for f in report.findings if f.kind is kind] for kind in FindingKind}
    assert {frozenset(finding.ports) for finding in by_kind[FindingKind.SWAPPED]} == there.keys() - planned
    ports = {port for fibre in planned for port in fibre}
    dark = ports - {port for fibre in there for port in fibre}
    assert {port for finding in by_kind[FindingKind.MISSING] for port in finding.ports} == dark
    dirty = {fibre for fibre, loss in there.items() if loss > LIMIT}
    assert {frozenset(finding.ports) for finding in by_kind[FindingKind.DIRTY]} == dirty
    assert by_kind[FindingKind.ONE_WAY] == by_kind[FindingKind.UNCLEAR] == []


@settings(max_examples=150, deadline=None)
@given(fabrics(), st.data())
def test_whoever_leaves_when_nothing_false_is_found(plant: Plant, data: st.DataObject) -> None:
    """Nodes leave, select whatever they like from then on, and no fibre is found that does not lie there."""
    lab = Lab(plant)
    lab.carry_out(lab.audit.begin(lab.now))
    while lab.step():
        if lab.audit.members and data.draw(st.integers(0, 5)) == 0:
            gone = data.draw(st.sampled_from(sorted(lab.audit.members)))
            lab.carry_out(lab.audit.leave({gone: "needed elsewhere"}, lab.now))
        for position in sorted(lab.audit.left):
            ports = plant.wiring.ports(position)
            if ports:
                port = data.draw(st.sampled_from(ports))
                plant.select(position, port.bundle, data.draw(st.sampled_from([port.path, L])))
    report = lab.audit.report(LIMIT)
    there = lying(plant)
    outside = lab.audit.left.keys()
    for found in report.fibres:
        if found.audited and not {found.fibre.a.position, found.fibre.b.position} & outside:
            assert of(found.fibre) in there
    for finding in report.findings:
        if finding.kind is FindingKind.SWAPPED and not {port.position for port in finding.ports} & outside:
            assert frozenset(finding.ports) in there
