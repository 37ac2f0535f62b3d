"""What one node consists of and where its fibres lead: as the fabric file says, or as an agent found it.

Controller and agents hold their own idea of the cabling. They must agree before a single bundle is switched, so the
two inventories are compared when an agent says hello, and the first difference is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ringlight.fabric.circuits import Path
from ringlight.fabric.wiring import Wiring


@dataclass(frozen=True, slots=True)
class BundleInventory:
    """One bundle of a node.

    Attributes:
        edge: edge j of the intra-node ring, joining GPU j and GPU j+1 mod R.
        modules: transceivers in the bundle.
        peers: for each cabled port, the name of the port at the other end (``n18/b1.p1``).
    """

    edge: int
    modules: int
    peers: Mapping[Path, str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """One node: its GPUs, and its bundles by number."""

    gpus: int
    bundles: tuple[BundleInventory, ...]


def inventory_of(wiring: Wiring, position: int) -> Inventory:
    """What the agent of a node should find, according to the wiring."""
    peers: list[dict[Path, str]] = [{} for _ in wiring.spec.bundles]
    for port in wiring.ports(position):
        peer = wiring.peer(port)
        if peer is not None:
            peers[port.bundle][port.path] = wiring.port_name(peer)
    return Inventory(
        gpus=wiring.spec.gpus,
        bundles=tuple(
            BundleInventory(bundle.edge, bundle.modules, of_bundle)
            for bundle, of_bundle in zip(wiring.spec.bundles, peers, strict=True)
        ),
    )


def difference(file: Inventory, agent: Inventory) -> str:
    """The first difference between the fabric file's inventory and an agent's, in words; empty when they agree."""
    if file.gpus != agent.gpus:
        return f"GPUs: the fabric file says {file.gpus}, the agent found {agent.gpus}"
    if len(file.bundles) != len(agent.bundles):
        return f"bundles: the fabric file says {len(file.bundles)}, the agent found {len(agent.bundles)}"
    for number, (ours, theirs) in enumerate(zip(file.bundles, agent.bundles, strict=True)):
        if ours.edge != theirs.edge:
            return f"bundle {number}: the fabric file puts it on edge {ours.edge}, the agent on edge {theirs.edge}"
        if ours.modules != theirs.modules:
            return f"bundle {number}: the fabric file says {ours.modules} modules, the agent found {theirs.modules}"
        for path in sorted({*ours.peers, *theirs.peers}):
            our_peer, their_peer = ours.peers.get(path, "nowhere"), theirs.peers.get(path, "nowhere")
            if our_peer != their_peer:
                return f"fibre at b{number} {path.name}: the fabric file says {our_peer}, the agent {their_peer}"
    return ""
