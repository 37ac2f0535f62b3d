"""What an audit found, held against the fabric file: the fibres as they lie, and everything that is wrong with them.

A fibre counts as found when each of its ends names the other. What the audit could not see, because an end of it was
not audited, is taken from the file and marked so: also a port whose light may come from a node that left the audit, if
the file says that it does.
"""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ringlight.controller.audit.evidence import Evidence
from ringlight.fabric.spec import Fibre, Port
from ringlight.fabric.wiring import Wiring


class FindingKind(StrEnum):
    """What can be wrong with a fibre."""

    SWAPPED = "swapped"  # it joins other ports than the file says
    MISSING = "missing"  # no light comes through: cut, not plugged in, or plugged in where no light can be seen
    ONE_WAY = "one-way"  # light comes through in one direction only
    DIRTY = "dirty"  # it loses too much light
    UNCLEAR = "unclear"  # the light at a port follows no port, or more than one


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        ports: that it is about: both ends of a fibre, or one port.
        loss: in dB, as far as it was measured.
        text: one line for a person.
    """

    kind: FindingKind
    ports: tuple[Port, ...]
    text: str
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class FoundFibre:
    """A fibre as it lies.

    Attributes:
        loss: in dB, of the worse direction; None where it was not measured.
        audited: it was seen; otherwise it is what the file says.
    """

    fibre: Fibre
    loss: float | None = None
    audited: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that an audit found."""

    fibres: tuple[FoundFibre, ...]
    findings: tuple[Finding, ...]


def report(wiring: Wiring, evidence: Evidence, audited: Collection[Port], highest_loss: float) -> Report:
    """What the light of an audit means.

    Args:
        wiring: the fabric file's.
        evidence: of all rounds.
        audited: the ports of nodes that were in the audit to its end.
        highest_loss: dB above which a fibre is dirty.
    """
    comparison = _Comparison(wiring, evidence, frozenset(audited))
    findings = [*comparison.by_port(), *comparison.by_fibre_of_file()]
    fibres = comparison.fibres()
    findings += [_dirty(wiring, found) for found in fibres if found.loss is not None and found.loss > highest_loss]
    return Report(tuple(fibres), tuple(sorted(findings, key=lambda finding: (finding.ports, finding.kind))))


def _dirty(wiring: Wiring, found: FoundFibre) -> Finding:
    ends = (found.fibre.a, found.fibre.b)
    text = f"the fibre between {_names(wiring, ends)} loses {found.loss:.1f} dB"
    return Finding(FindingKind.DIRTY, ends, text, found.loss)


def _names(wiring: Wiring, ports: tuple[Port, ...]) -> str:
    return " and ".join(map(wiring.port_name, ports))


class _Comparison:
    """The light of an audit beside the fabric file."""

    def __init__(self, wiring: Wiring, evidence: Evidence, audited: frozenset[Port]) -> None:
        self._wiring = wiring
        self._evidence = evidence
        self._audited = audited
        self._name: Callable[[Port], str] = wiring.port_name
        self._seen = {port: self._judge(port) for port in sorted(audited)}

    def _judge(self, port: Port) -> tuple[Port, ...]:
        """The far ends that a port names: of several, the one that names it too, if there is no doubt about either."""
        found = self._evidence.far_ends(port)
        sure = self._evidence.sure_far_ends(port)
        if len(found) > 1 and len(sure) == 1 and self._evidence.sure_far_ends(sure[0]) == (port,):
            return sure
        return found

    def _is_as_planned(self, port: Port) -> bool:
        """Whether the light at a port may come from where the file says, and nobody could see more than that."""
        planned = self._wiring.peer(port)
        found = self._seen[port]
        return len(found) > 1 and planned in found and planned not in self._audited

    def _far(self, port: Port) -> Port | None:
        """The one far end that a port names."""
        found = self._seen.get(port, ())
        return found[0] if len(found) == 1 else None

    def _joined(self, port: Port) -> Port | None:
        """The far end of a port, if that says the same, or was not audited to the end."""
        far = self._far(port)
        if far is None or (far in self._audited and self._far(far) != port):
            return None
        return far

    def by_port(self) -> Iterator[Finding]:
        """What is wrong with ports at which there is light, each fibre once."""
        for port, found in self._seen.items():
            far = self._far(port)
            if not self._evidence.was_lit(port) or self._is_as_planned(port):
                continue
            if far is None:
                yield Finding(FindingKind.UNCLEAR, (port,), self._unclear(port, found))
            elif far in self._audited and not self._evidence.was_lit(far):
                text = f"light gets from {self._name(far)} to {self._name(port)}, and not back"
                yield Finding(FindingKind.ONE_WAY, (port, far), text)
            elif far in self._audited and self._far(far) != port:
                text = f"the light at {self._name(port)} follows {self._name(far)}, whose light follows another port"
                yield Finding(FindingKind.UNCLEAR, (port,), text)
            elif far != self._wiring.peer(port) and (port < far or far not in self._audited):
                yield Finding(FindingKind.SWAPPED, (port, far), self._swapped(port, far), self._loss(port, far))

    def _unclear(self, port: Port, found: tuple[Port, ...]) -> str:
        if not found:
            return f"the light at {self._name(port)} follows no port that was audited"
        return f"the light at {self._name(port)} may come from {len(found)} ports: too little was seen"

    def _swapped(self, port: Port, far: Port) -> str:
        planned = [
            f"{self._name(end)} with {self._name(peer)}"
            for end in (port, far)
            if (peer := self._wiring.peer(end)) is not None
        ]
        return f"a fibre joins {self._name(port)} with {self._name(far)}; the file has {', '.join(planned)}"

    def by_fibre_of_file(self) -> Iterator[Finding]:
        """Fibres of the file of which audited ends stayed dark: those of nodes that were not audited say nothing."""
        for hop in self._wiring.hops:
            ends = (hop.low, hop.high)
            if not self._audited.issuperset(ends):
                continue
            dark = tuple(end for end in ends if not self._evidence.was_lit(end))
            name = self._wiring.hop_name(hop.key)
            if dark == ends:
                text = f"no light gets through {name}, between {_names(self._wiring, ends)}"
                yield Finding(FindingKind.MISSING, ends, text)
            elif dark and self._far(hop.low if dark[0] == hop.high else hop.high) != dark[0]:
                yield Finding(FindingKind.MISSING, dark, f"no light comes to {self._name(dark[0])}, of {name}")

    def fibres(self) -> list[FoundFibre]:
        """The fibres that were seen, and those of the file that could not be; in the order of their first ends."""
        found = {}
        for port in self._seen:
            far = self._joined(port)
            if far is not None:
                ends = self._in_order(port, far)
                found[ends] = FoundFibre(Fibre(*ends), self._loss(*ends))
        taken = {end for ends in found for end in ends}
        for hop in self._wiring.hops:
            ends = (hop.low, hop.high)
            if not self._audited.issuperset(ends) and not any(self._accounted(end, taken) for end in ends):
                found[ends] = FoundFibre(Fibre(*ends), audited=False)
        return [found[ends] for ends in sorted(found)]

    def _accounted(self, end: Port, taken: Collection[Port]) -> bool:
        """Whether something else is known of a port than what the file says."""
        return end in taken or (end in self._seen and self._evidence.was_lit(end) and not self._is_as_planned(end))

    def _in_order(self, one: Port, other: Port) -> tuple[Port, Port]:
        """The ends of a fibre, as the file has them if it has the fibre."""
        hop = self._wiring.hop_at(one)
        if hop is not None and {hop.low, hop.high} == {one, other}:
            return hop.low, hop.high
        return min(one, other), max(one, other)

    def _loss(self, one: Port, other: Port) -> float | None:
        """What a fibre loses in its worse direction, of those that were measured."""
        losses = [
            sent - received
            for near, far in ((one, other), (other, one))
            if (sent := _sent(self._evidence, near)) is not None
            and (received := _received(self._evidence, far)) is not None
        ]
        return max(losses, default=None)


def _sent(evidence: Evidence, port: Port) -> float | None:
    power = evidence.powers.get(port)
    return power.sent if power is not None and power.sent is not None and math.isfinite(power.sent) else None


def _received(evidence: Evidence, port: Port) -> float | None:
    power = evidence.powers.get(port)
    if power is None or power.received is None or not math.isfinite(power.received):
        return None
    return power.received
