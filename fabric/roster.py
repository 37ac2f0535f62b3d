"""The nodes of a fabric file: how many, their names and places, and what makes no sense about a range of them.

A range that makes no sense, or nodes that were wrong in form (None), are of unknown number and names.
"""

from ringlight.fabric.deployment import Deployment
from ringlight.fabric.problem import Problem
from ringlight.fabric.schema import MAX_NODES, NodeEntry, NodeForm, NodeRange
from ringlight.fabric.spec import NodeSpec

Nodes = NodeRange | list[NodeForm | None] | None


def check_range(nodes: NodeRange) -> list[Problem]:
    """What makes no sense about a range: numbers that are missing or contradict each other."""
    count, racks, per_rack, domains = nodes.count, nodes.racks, nodes.nodes_per_rack, nodes.domains
    problems = []
    if per_rack and not racks:
        fix = f"for {count} nodes write racks: {count // per_rack}" if count % per_rack == 0 < count else "add it"
        problems.append(Problem("nodes.racks", f"is missing, and nodes_per_rack needs it; {fix}"))
    elif per_rack and count and count != racks * per_rack:
        holds = f"{racks} racks of {per_rack} nodes hold {racks * per_rack}"
        problems.append(Problem("nodes.count", f"{holds}, found {count}; correct one of the three, or leave count out"))
    elif racks * per_rack > MAX_NODES:
        holds = f"{racks} racks of {per_rack} nodes hold {racks * per_rack}"
        problems.append(Problem("nodes.nodes_per_rack", f"{holds}; a fabric has at most {MAX_NODES} nodes"))
    elif not per_rack and not count:
        problems.append(Problem("nodes.count", "is missing; give it, or racks and nodes_per_rack"))
    if domains and not racks:
        problems.append(Problem("nodes.domains", "needs racks: a domain is a range of them; add the number of racks"))
    elif domains and racks % domains:
        nearest = max(number for number in range(1, min(domains, racks) + 1) if racks % number == 0)
        problems.append(
            Problem("nodes.domains", f"expected a divisor of the {racks} racks such as {nearest}, found {domains}")
        )
    return problems


def size_of(nodes: Nodes) -> int | None:
    """How many nodes there are."""
    match nodes:
        case None:
            return None
        case NodeRange():
            return None if check_range(nodes) else nodes.count or nodes.racks * nodes.nodes_per_rack
        case listed:
            return len(listed)


def names_of(nodes: Nodes) -> list[str | None]:
    """The names in fabric order, None for one that was wrong; empty when nothing is known of the nodes."""
    match nodes:
        case None:
            return []
        case NodeRange():
            return [f"{nodes.prefix}{nodes.first + number}" for number in range(size_of(nodes) or 0)]
        case listed:
            return [node.name if isinstance(node, NodeEntry) else node for node in listed]


def specs_of(nodes: Nodes) -> tuple[NodeSpec, ...]:
    """The nodes of an entry without mistakes."""
    match nodes:
        case None:
            return ()
        case NodeRange():
            stands = Deployment(nodes.racks, nodes.domains)
            return tuple(
                NodeSpec(name, stands.rack(position), stands.domain(position))
                for position, name in enumerate(names_of(nodes))
                if name is not None
            )
        case listed:
            return tuple(
                NodeSpec(node.name, node.rack, node.domain) if isinstance(node, NodeEntry) else NodeSpec(node)
                for node in listed
                if node is not None
            )
