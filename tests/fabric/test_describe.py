"""A fabric as plain data."""

import json

from ringlight.fabric.describe import describe
from ringlight.fabric.wiring import Wiring


def test_everything_a_fabric_holds_is_described(make_spec):
    spec = make_spec(3, 1, 2, closed=True, name="lab")
    assert describe(Wiring(spec)) == {
        "name": "lab",
        "k": 1,
        "closed": True,
        "gpus_per_node": 2,
        "gpus": 6,
        "bundles": [{"edge": 0, "modules": 8}, {"edge": 1, "modules": 8}],
        "nodes": [
            {"name": "n0", "position": 0, "rack": ""},
            {"name": "n1", "position": 1, "rack": ""},
            {"name": "n2", "position": 2, "rack": ""},
        ],
        "fibres": [
            {"hop": "n0+1", "from": "n0/b0.p1", "to": "n1/b1.p1"},
            {"hop": "n1+1", "from": "n1/b0.p1", "to": "n2/b1.p1"},
            {"hop": "n2+1", "from": "n2/b0.p1", "to": "n0/b1.p1"},
        ],
    }


def test_a_description_is_data_for_programs(make_wiring):
    described = describe(make_wiring(16, 4))
    assert json.loads(json.dumps(described)) == described
    assert len(described["fibres"]) == 64
