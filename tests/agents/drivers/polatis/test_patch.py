"""Which ports belong to which bundle, and what a path is on the switch."""

from itertools import count

import pytest
from pydantic import ValidationError

from ringlight.agents.drivers.polatis.backend import polatis_drivers, polatis_problems
from ringlight.agents.drivers.polatis.file import PolatisNode, PolatisSwitch
from ringlight.agents.drivers.polatis.patch import Plugs, patch_of
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.file import parse_fabric
from ringlight.fabric.wiring import Wiring

L, P1, P2 = Path.LOOPBACK, Path.PATH_1, Path.PATH_2


def _ports(nodes=8):
    return {f"n{i}": [{"in": 2 * i + b + 1, "out": 16 + 2 * i + b + 1} for b in (0, 1)] for i in range(nodes)}


def _problems(wiring, ports, served=None):
    switch = PolatisSwitch(address="here:5025", ports=ports)
    nodes = {name: PolatisNode(switch="lab") for name in (ports if served is None else served)}
    return [str(problem) for problem in polatis_problems({"lab": switch}, nodes, wiring)]


def test_paths_follow_from_the_fabrics_fibres(patch):
    assert patch.outward(("n0", 0), L) == {1: 17} == patch.inward(("n0", 0), L)
    assert patch.outward(("n0", 0), P1) == {1: 20}, "n0/b0.p1 leads to n1/b1"
    assert patch.inward(("n0", 0), P1) == {4: 17}
    assert patch.outward(("n0", 0), P2) == {1: 22}, "n0/b0.p2 leads to n2/b1"
    assert patch.outward(("n7", 0), P1) == {15: 18}, "the order is closed"
    assert patch.outward(("n0", 0), Path.DARK) == {}


def test_a_bundle_of_several_modules_has_a_cross_connect_for_each():
    text = "{name: lab, k: 1, gpus: 4, bundles: [{edge: 0, modules: 2}, {edge: 2, modules: 2}], nodes: {count: 3}}"
    plugs = {
        f"n{i}": [
            Plugs((4 * i + 1, 4 * i + 2), (4 * i + 13, 4 * i + 14)),
            Plugs((4 * i + 3, 4 * i + 4), (4 * i + 15, 4 * i + 16)),
        ]
        for i in range(3)
    }
    patch, problems = patch_of(plugs, served=plugs, wiring=Wiring(parse_fabric(text, source="test")), path="ports")
    assert not problems
    assert patch.outward(("n0", 0), P1) == {1: 19, 2: 20}


def test_a_right_table_has_no_problems(wiring):
    assert _problems(wiring, _ports()) == []


def test_every_mistake_is_named_with_its_path(wiring):
    ports = _ports()
    ports["n1"][0]["in"] = 1
    ports["n2"] = ports["n2"][:1]
    ports["n3"][1]["out"] = [24, 40]
    ports["n9"] = ports.pop("n4")
    problems = _problems(wiring, ports, served=["n0", "n1", "n2", "n3", "n5"])
    assert "switches.lab.ports.n0[0].in: port 1 is given more than once" in problems
    assert "switches.lab.ports.n1[0].in: port 1 is given more than once" in problems
    assert "switches.lab.ports.n2: expected 2 bundles as in the fabric, found 1" in problems
    assert "switches.lab.ports.n3[1].out: expected 1 ports, one for each module of the bundle, found 2" in problems
    assert "switches.lab.ports.n9: the fabric 'lab' has no such node" in problems
    assert any("n3/b0.p1 leads to n4/b1, which is not plugged in" in problem for problem in problems)
    nodes, switches = {"n0": PolatisNode(switch="lab")}, {"lab": PolatisSwitch(address="here:1", ports=ports)}
    with pytest.raises(InvalidError, match="n9"):
        polatis_drivers(switches, nodes, wiring, None)


def test_a_node_that_is_served_must_be_plugged_in_and_its_switch_known(wiring):
    (problem, *_) = _problems(wiring, {}, served=["n3"])
    assert problem == "switches.lab.ports: n3 is served through this switch, but not plugged in anywhere"
    nodes = {"n3": PolatisNode(switch="lap")}
    (problem,) = polatis_problems({"lab": PolatisSwitch(address="here:1", ports=_ports())}, nodes, wiring)
    assert str(problem) == "nodes.n3.circuits.polatis.switch: there is no switch 'lap'; known are lab"


def test_neighbours_that_another_agent_serves_need_not_lead_anywhere(wiring):
    assert (
        _problems(wiring, {name: plugs for name, plugs in _ports().items() if name != "n4"}, served=["n0", "n1"]) == []
    )


def _plugs(ports):
    return Plugs(tuple(ports), tuple(20 + port for port in ports))


def _five(modules, port_map):
    """Five nodes of two bundles: b0 with one module, b1 with `modules`."""
    text = (
        "{name: ring, k: 1, gpus: 4, nodes: {count: 5}, "
        f"bundles: [{{edge: 0, modules: 1}}, {{edge: 2, modules: {modules}}}], ports: {port_map}}}"
    )
    wiring = Wiring(parse_fabric(text, source="test"))
    numbers = count(1)
    plugs = {
        f"n{i}": [_plugs([next(numbers) for _ in range(spec.modules)]) for spec in wiring.spec.bundles]
        for i in range(5)
    }
    return patch_of(plugs, served=plugs, wiring=wiring, path="ports")


def test_a_port_map_in_which_one_bundle_looks_both_ways():
    patch, problems = _five("1", "{b0.p1: 1, b0.p2: -1}")
    assert not problems
    assert patch.peers["n0", 0] == {P1: ("n1", 0), P2: ("n4", 0)}
    assert patch.outward(("n0", 0), P1) == {1: 23}
    assert patch.inward(("n0", 0), P2) == {9: 21}


def test_two_ends_of_a_hop_have_as_many_modules():
    _, problems = _five("2", "{b0.p1: 1, b1.p1: -1}")
    assert "ports.n0: n0/b0.p1 leads to n1/b1, which has another number of modules" in map(str, problems)


@pytest.mark.parametrize(
    "wrong",
    [{"address": "nowhere"}, {"ports": {"n0": [{"in": 0, "out": 1}]}}, {"poll": 0}, {"light_above": "x"}, {"x": 1}],
)
def test_the_form_of_the_file(wrong):
    PolatisSwitch(address="10.0.0.5:5025", ports={"n0": [{"in": [1, 2], "out": 3}]}, light_above=-20)
    with pytest.raises(ValidationError):
        PolatisSwitch(**{"address": "10.0.0.5:5025", "ports": {}, **wrong})
