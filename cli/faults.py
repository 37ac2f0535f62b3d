"""The words with which `ringlight emulator fail` names faults, and the request they make.

Which options a kind takes is decided here, so that an option that would be ignored is refused instead.
"""

from collections.abc import Mapping

import click

from ringlight.protos.v1 import emulator_pb2 as pb

# Each kind of fault, and the details that may be given with it.
KINDS: Mapping[str, frozenset[str]] = {
    "gpu-xid": frozenset({"gpu", "xid", "recovery"}),
    "gpu-lost": frozenset({"gpu"}),
    "power-off": frozenset(),
    "agent-crash": frozenset(),
    "agent-hang": frozenset(),
    "fibre-cut": frozenset(),
    "module-dead": frozenset({"bundle", "module"}),
    "bundle-stuck": frozenset({"bundle"}),
    "bundle-slow": frozenset({"bundle", "delay"}),
    "fibre-swapped": frozenset({"with"}),
    "fibre-dirty": frozenset({"loss"}),
    "module-fault": frozenset({"bundle", "module", "how", "delay", "amount", "lanes"}),
}

# What a kind cannot do without.
_NEEDS = {
    "bundle-slow": ("delay", "--delay SECONDS"),
    "fibre-swapped": ("with", "--with HOP"),
    "fibre-dirty": ("loss", "--loss DB"),
    "module-fault": ("how", "--how WAY"),
}
_FIELDS = {"with": "partner"}  # of the request, where it has another name than the option
_PREFIX = "FAULT_KIND_"


def kind_name(kind: int) -> str:
    """The word for a kind on the wire; its number when a newer emulator invented it."""
    value = pb.FaultKind.DESCRIPTOR.values_by_number.get(kind)
    return f"kind {kind}" if value is None else value.name.removeprefix(_PREFIX).lower().replace("_", "-")


def inject_request(kind: str, target: str, fault_id: str, details: Mapping[str, float | str]) -> pb.InjectRequest:
    """The request for a fault.

    Raises:
        click.UsageError: a detail that the kind does not take or lacks, or a target that is no hop.
    """
    for name in sorted(details.keys() - KINDS[kind]):
        raise click.UsageError(f"--{name} means nothing for {kind}")
    needed, usage = _NEEDS.get(kind, ("", ""))
    if needed and needed not in details:
        raise click.UsageError(f"{kind} needs {usage}")
    request = pb.InjectRequest(
        kind=pb.FaultKind.Value(_PREFIX + kind.replace("-", "_").upper()), node=target, id=fault_id
    )
    if kind.startswith("fibre-"):
        node, _, distance = target.rpartition("+")
        if not node or not distance.isdecimal():
            raise click.UsageError(f"{kind} needs a hop such as n3+2, not {target!r}")
        request.node, request.distance = node, int(distance)
    for name, value in details.items():
        setattr(request, _FIELDS.get(name, name), value)
    return request
