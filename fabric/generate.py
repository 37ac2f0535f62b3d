"""Writes the fabric file of a site that is described by a few numbers: racks, nodes a rack, hop distances.

What is written has been read back as a fabric file, so it describes a fabric that can be built.
"""

from dataclasses import dataclass
from typing import Any

import yaml

from ringlight.fabric.deployment import Deployment
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.file import FabricFileError, parse_fabric
from ringlight.fabric.schema import MAX_K
from ringlight.fabric.spec import nearest_distances

_MOST_PROBLEMS = 5  # in a message; a prefix that is no name makes one a node
_WIDTH = 120  # columns


@dataclass(frozen=True, slots=True)
class Site:
    """What a fabric is to be like.

    Attributes:
        name: of the fabric.
        racks: how many.
        nodes_per_rack: the same number in each.
        domains: aggregation domains, contiguous ranges of racks; 0 leaves them out.
        distances: of the hops.
        gpus: GPUs a node.
        closed: the order wraps around.
        prefix: of the nodes' names.
        listed: list every node with a name that tells rack and slot, ``r3-n5``, instead of numbering them.
    """

    name: str
    racks: int
    nodes_per_rack: int
    domains: int = 0
    distances: tuple[int, ...] = nearest_distances(2)
    gpus: int = 4
    closed: bool = True
    prefix: str = "n"
    listed: bool = False


def fabric_text(site: Site) -> str:
    """The text of a fabric file, in the interleaved order of `ringlight.fabric.deployment`.

    Raises:
        InvalidError: no fabric can be built so; says why.
    """
    text = _text(site, _range(site))
    _check(text)
    if site.listed:  # only now: the numbers are known to be sound
        text = _text(site, _list(site))
        _check(text)
    return text


def _text(site: Site, nodes: Any) -> str:
    k = min(MAX_K, len(site.distances))
    is_nearest = site.distances == nearest_distances(k)
    document = {
        "name": site.name,
        **({"k": k} if is_nearest else {"distances": list(site.distances)}),
        "closed": site.closed,
        "gpus": site.gpus,
        "nodes": nodes,
    }
    comment = (
        f"# {site.racks * site.nodes_per_rack} nodes, {site.nodes_per_rack} in each rack. "
        f"The order takes a node of every rack in turn: position i is in rack i mod {site.racks}.\n"
    )
    return comment + yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=_WIDTH)


def _range(site: Site) -> dict[str, Any]:
    domains = {"domains": site.domains} if site.domains else {}
    return {"racks": site.racks, "nodes_per_rack": site.nodes_per_rack, **domains, "prefix": site.prefix}


def _list(site: Site) -> list[dict[str, str]]:
    stands = Deployment(site.racks, site.domains)
    return [
        {
            "name": f"r{stands.rack_number(position)}-{site.prefix}{stands.slot(position)}",
            "rack": stands.rack(position),
            **({"domain": stands.domain(position)} if site.domains else {}),
        }
        for position in range(site.racks * site.nodes_per_rack)
    ]


def _check(text: str) -> None:
    try:
        parse_fabric(text, source="the fabric file")
    except FabricFileError as error:
        lines = [f"  {problem}" for problem in error.problems[:_MOST_PROBLEMS]]
        if len(error.problems) > _MOST_PROBLEMS:
            lines.append(f"  and {len(error.problems) - _MOST_PROBLEMS} more")
        message = "such a fabric cannot be built; its file would be wrong:\n" + "\n".join(lines)
        raise InvalidError(message, hint="ask for other numbers or names") from error
