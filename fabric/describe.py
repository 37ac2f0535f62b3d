"""A fabric as plain data, for people and programs that want to see what a file describes."""

from typing import Any

from ringlight.fabric.wiring import Wiring


def describe(wiring: Wiring) -> dict[str, Any]:
    """The whole fabric: numbers, nodes in order, bundles of a node, and every fibre by hop and ends."""
    spec = wiring.spec
    return {
        "name": spec.name,
        "k": spec.k,
        "distances": list(spec.distances),
        "closed": spec.closed,
        "gpus_per_node": spec.gpus,
        "gpus": wiring.size * spec.gpus,
        "bundles": [{"edge": bundle.edge, "modules": bundle.modules} for bundle in spec.bundles],
        "nodes": [
            {"name": node.name, "position": position, "rack": node.rack, "domain": node.domain}
            for position, node in enumerate(spec.nodes)
        ],
        "fibres": [
            {
                "hop": wiring.hop_name(hop.key),
                "from": wiring.port_name(hop.low),
                "to": wiring.port_name(hop.high),
            }
            for hop in wiring.hops
        ],
    }
