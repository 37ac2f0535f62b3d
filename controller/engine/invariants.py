"""What is refused whatever the reason: the invariants of DESIGN section 4, checked on every command before it leaves.

They are worked out anew from the rings, not from the bookkeeping that led to the commands, so that a mistake there is
caught here. A command that breaks one is dropped, counted and told; any count but zero is a bug of ours.

I4 (an agent changes nothing by itself) and the agent's half of I3 are kept by `ringlight.agents.executor`.
"""

from dataclasses import dataclass

from ringlight.controller.engine.assessment import rests_on_silence_alone
from ringlight.controller.engine.effects import SendCircuits
from ringlight.controller.engine.state import State
from ringlight.fabric.spec import Port


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant: which, on which node, and how."""

    invariant: str
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class Footing:
    """What a set of commands claims to stand on.

    Attributes:
        changed_rings: names of the rings in the plan's diff.
        starting: the event being handled is part of a start: the store's contents, or a node's first hello.
        evidence: something other than the start itself asks for a change.
    """

    changed_rings: frozenset[str]
    starting: bool
    evidence: bool


def check(state: State, commands: list[SendCircuits], footing: Footing) -> list[Violation]:
    """Every invariant that these commands would break."""
    owners = {position: ring.name for ring in state.rings.values() for position in ring.chain}
    found: list[Violation] = []
    for command in commands:
        position = state.wiring.position(command.node)
        owner = owners.get(position, "")
        if owner and owner not in footing.changed_rings:
            found.append(Violation("I1", command.node, f"belongs to {owner}, which is not in the plan's diff"))
        found.extend(_check_ports(state, command, position))
        if command.epoch != state.epoch:
            found.append(Violation("I3", command.node, f"epoch {command.epoch} is not ours ({state.epoch})"))
        if command.generation <= state.nodes[position].sent:
            found.append(Violation("I5", command.node, f"generation {command.generation} does not grow"))
        if footing.starting and not footing.evidence:
            found.append(Violation("I6", command.node, "a start changes no circuit"))
    for node in (state.nodes[position] for position in sorted(state.failed)):
        if rests_on_silence_alone(node.judgement):
            found.extend(Violation("I7", command.node, f"{node.name} failed by silence alone") for command in commands)
    return found


def _check_ports(state: State, command: SendCircuits, position: int) -> list[Violation]:
    """I2: what a node is told to select must be selected at the other end too, by the same version of the plan."""
    found: list[Violation] = []
    if position in state.audits.members:
        return found  # its hops are changing: an audit lights fibres to see where they end
    for bundle, path in enumerate(command.table):
        if not path.is_external:
            continue
        peer = state.wiring.peer(Port(position, bundle, path))
        if peer is None or state.nodes[peer.position].desired[peer.bundle] is not peer.path:
            port = state.wiring.port_name(Port(position, bundle, path))
            found.append(Violation("I2", command.node, f"the other end of {port} is not told to select it"))
    return found
