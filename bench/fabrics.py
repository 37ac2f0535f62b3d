"""Fabrics to measure on: nodes of four GPUs in a closed order, cabled by the default port map, K = 2."""

from typing import Any

from ringlight.fabric.spec import (
    FabricSpec,
    NodeSpec,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
    nearest_distances,
)

K = 2
GPUS = 4  # a node
RING_NODES = 8  # m: rings of 32 GPUs
NAME = "bench"


def make_spec(nodes: int) -> FabricSpec:
    """A fabric of so many nodes, n0 and on."""
    return FabricSpec(
        name=NAME,
        distances=nearest_distances(K),
        closed=True,
        gpus=GPUS,
        bundles=default_bundles(K, GPUS),
        nodes=tuple(NodeSpec(f"n{position}") for position in range(nodes)),
        fibres=fibres_of_port_map(default_port_map(nearest_distances(K)), nodes, closed=True),
    )


def make_document(nodes: int) -> dict[str, Any]:
    """The same fabric as the contents of a fabric file."""
    return {"name": NAME, "k": K, "closed": True, "gpus": GPUS, "nodes": {"count": nodes}}
