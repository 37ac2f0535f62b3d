"""A fabric as plain data."""

import json

from ringlight.fabric.describe import describe
from ringlight.fabric.file import parse_fabric
from ringlight.fabric.wiring import Wiring


def test_everything_a_fabric_holds_is_described(make_spec):
    spec = make_spec(3, 1, 2, closed=True, name="lab")
    assert describe(Wiring(spec)) == {
        "name": "lab",
        "k": 1,
        "distances": [1],
        "closed": True,
        "gpus_per_node": 2,
        "gpus": 6,
        "bundles": [{"edge": 0, "modules": 8}, {"edge": 1, "modules": 8}],
        "nodes": [
            {"name": "n0", "position": 0, "rack": "", "domain": ""},
            {"name": "n1", "position": 1, "rack": "", "domain": ""},
            {"name": "n2", "position": 2, "rack": "", "domain": ""},
        ],
        "fibres": [
            {"hop": "n0+1", "from": "n0/b0.p1", "to": "n1/b1.p1"},
            {"hop": "n1+1", "from": "n1/b0.p1", "to": "n2/b1.p1"},
            {"hop": "n2+1", "from": "n2/b0.p1", "to": "n0/b1.p1"},
        ],
    }


def test_other_distances_and_places_are_described():
    spec = parse_fabric(
        "name: lab\ngpus: 4\ndistances: [1, 3]\nnodes: {racks: 4, nodes_per_rack: 2, domains: 2}", source="lab.yaml"
    )
    described = describe(Wiring(spec))
    assert (described["k"], described["distances"]) == (2, [1, 3])
    assert described["nodes"][6] == {"name": "n6", "position": 6, "rack": "rack2", "domain": "domain1"}
    assert {"hop": "n6+3", "from": "n6/b0.p2", "to": "n1/b1.p2"} in described["fibres"]


def test_a_description_is_data_for_programs(make_wiring):
    described = describe(make_wiring(16, 4))
    assert json.loads(json.dumps(described)) == described
    assert len(described["fibres"]) == 64
