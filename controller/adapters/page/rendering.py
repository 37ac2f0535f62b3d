"""What the engine shows, as JSON documents of the page. Pure functions of views; names are those of the views.

In lists that grow with the fabric, what is empty, false or zero is left out: at 2,048 nodes that is most of it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

from ringlight.controller.adapters.page.answer import answer
from ringlight.controller.engine.explain import Explanation
from ringlight.controller.engine.picture import BundleView, NodeMark, PictureView, RingLight
from ringlight.controller.engine.view import FabricView, JobView, NodeView, RingView
from ringlight.controller.engine.what_if import Foretold, JobAfter
from ringlight.controller.health.verdicts import Verdict
from ringlight.controller.ports import LoggedEvent
from ringlight.fabric.circuits import Fault
from ringlight.fabric.spec import FabricSpec, NodeSpec
from ringlight.fabric.wiring import HopKey

HUES = 6
COLOURS = 2 * HUES  # plain and banded: see static/palette.js


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything of one moment that the page draws, and what the nodes are called."""

    spec: FabricSpec
    fabric: FabricView
    picture: PictureView
    jobs: tuple[JobView, ...]
    gpus_wasted: int
    starting: bool
    store_trouble: str


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """A document as it goes over the wire."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def fabric_to(shown: Shown) -> dict[str, Any]:
    """The snapshot."""
    fabric = shown.fabric
    told = answer(fabric, shown.jobs, starting=shown.starting, store_trouble=shown.store_trouble)
    names = [node.name for node in shown.spec.nodes]
    spares = set(fabric.spare_positions)
    colours = colours_of(shown.picture.rings)
    return {
        "sequence": fabric.last_event,
        "answer": asdict(told),
        "fabric": {
            "name": fabric.name,
            "k": fabric.k,
            "distances": fabric.distances,
            "closed": fabric.closed,
            "nodes": fabric.nodes,
            "gpus_per_node": fabric.gpus_per_node,
            "gpus": fabric.nodes * fabric.gpus_per_node,
            "gpus_healthy": fabric.gpus_healthy,
            "gpus_in_rings": fabric.gpus_in_rings,
            "gpus_wasted": shown.gpus_wasted,
            "epoch": fabric.epoch,
            "generation": fabric.generation,
            "settled": fabric.settled,
            "starting": shown.starting,
            "store": shown.store_trouble or "ok",
            "spares": fabric.spares,
            "quarantined": fabric.quarantined,
            "longest_bypass": fabric.longest_bypass,
            "violations": fabric.violations,
            "verdicts": dict(fabric.verdicts),
            "ring_states": dict(fabric.ring_states),
            "overlays": dict(fabric.overlays),
        },
        "gates": [{"name": gate.name, "open": gate.open, "reason": gate.reason} for gate in fabric.gates],
        "nodes": [
            _node_to(node, mark, spare=position in spares)
            for position, (node, mark) in enumerate(zip(shown.spec.nodes, shown.picture.nodes, strict=True))
        ],
        "rings": [{**ring_to(ring, names), "colour": colours[ring.name]} for ring in shown.picture.rings],
        "jobs": [job_to(job) for job in shown.jobs],
        "strange_hops": _hops_to(shown.picture.strange, names),
        "dead_hops": _hops_to(shown.picture.dead, names),
        "untested_hops": _hops_to(shown.picture.untested, names),
    }


def _node_to(node: NodeSpec, mark: NodeMark, *, spare: bool) -> dict[str, Any]:
    """A node. What is said of a healthy one is left out: it is all the same."""
    return {
        "name": node.name,
        "verdict": mark.verdict,
        **_without_empty(
            reason=mark.reason if mark.verdict != Verdict.HEALTHY.value else "",
            rack=node.rack,
            ring=mark.ring,
            spare=spare,
            silent=mark.silent,
            overlay=mark.overlay,
            overlay_reason=mark.overlay_reason,
            quarantine=mark.quarantine,
            faults=mark.faults,
        ),
    }


def colours_of(rings: Iterable[RingLight]) -> dict[str, int]:
    """A colour for each ring, by name: ranks of a job take turns, and no colour is used twice while one is unused.

    Where a job begins follows from its name, so that jobs whose names come later change nothing.
    """
    used = Counter[int]()
    colours = {}
    for ring in rings:
        begin = crc32(ring.job.encode()) % HUES
        turns = [(begin + step) % HUES + shade for shade in range(0, COLOURS, HUES) for step in range(HUES)]
        colours[ring.name] = min(turns, key=used.__getitem__)  # the first of those that are used least
        used[colours[ring.name]] += 1
    return colours


def ring_to(ring: RingLight, names: Sequence[str]) -> dict[str, Any]:
    """A ring with its chain by position, and its hops."""
    return {
        "name": ring.name,
        "job": ring.job,
        "state": ring.state,
        "cause": ring.cause,
        "generation": ring.generation,
        "chain": ring.chain,
        "hops": [
            {**_hop_to(hop.key, names), **_without_empty(lit=lit)} for hop, lit in zip(ring.hops, ring.lit, strict=True)
        ],
    }


def _hop_to(key: HopKey, names: Sequence[str]) -> dict[str, Any]:
    """A hop: from the position where it starts to the one where it ends, round the end of a closed fabric."""
    return {
        "name": f"{names[key.position]}+{key.distance}",
        "start": key.position,
        "end": (key.position + key.distance) % len(names),
        "distance": key.distance,
    }


def _hops_to(keys: Iterable[HopKey], names: Sequence[str]) -> list[dict[str, Any]]:
    return [_hop_to(key, names) for key in keys]


def _without_empty(**fields: str | bool | int) -> dict[str, str | bool | int]:
    return {name: value for name, value in fields.items() if value}


def job_to(job: JobView) -> dict[str, Any]:
    """A job."""
    return asdict(job)


def event_to(logged: LoggedEvent) -> dict[str, Any]:
    """An event, with its wall-clock time."""
    event = logged.event
    return {
        "sequence": event.sequence,
        "time": round(logged.time, 3),
        "kind": event.kind,
        "subject": event.subject,
        "text": event.text,
        "data": dict(event.data),
    }


def subject_to(explanation: Explanation, history: Iterable[LoggedEvent]) -> dict[str, Any]:
    """Why something is as it is, and its events of the log, newest first."""
    return {
        "subject": explanation.subject,
        "kind": explanation.kind,
        "summary": explanation.summary,
        "reasons": explanation.reasons,
        "history": [event_to(logged) for logged in reversed(list(history))],
    }


def node_to(node: NodeView, bundles: Iterable[BundleView]) -> dict[str, Any]:
    """A node with its circuits and faults."""
    return {
        "name": node.name,
        "position": node.position,
        "rack": node.rack,
        "verdict": node.verdict,
        "reason": node.reason,
        "agent": node.agent,
        "ring": node.ring,
        "spare": node.spare,
        "overlay": node.overlay,
        "overlay_reason": node.overlay_reason,
        "overlay_seconds": round(node.overlay_seconds, 1),
        "quarantine": node.quarantine,
        "generation": node.generation,
        "faults": [_fault_to(fault) for fault in node.faults],
        "bundles": [asdict(bundle) for bundle in bundles],
    }


def _fault_to(fault: Fault) -> dict[str, Any]:
    return {
        "id": fault.id,
        "component": fault.component,
        "fault_class": fault.fault_class.name,
        "code": fault.code,
        "text": fault.text,
        "recovery": fault.recovery,
    }


def members_of(ring: RingView) -> dict[str, Any]:
    """The nodes of a ring in chain order, and its GPUs in rank order."""
    return {"nodes": ring.nodes, "gpus": ring.gpus}


def plan_to(foretold: Foretold) -> dict[str, Any]:
    """What would be done."""
    return {"jobs": [_job_after_to(job) for job in foretold.jobs], "reasons": foretold.reasons}


def _job_after_to(job: JobAfter) -> dict[str, Any]:
    return {
        "name": job.name,
        "state": job.state.value,
        "rings_now": job.rings_now,
        "rings": job.rings,
        "rings_wanted": job.rings_wanted,
        "min_rings": job.min_rings,
        "bundles": job.bundles,
        "reasons": job.reasons,
        "changes": [
            {
                "ring": after.change.ring,
                "former": after.change.former,
                "chain": after.change.chain,
                "cause": after.cause,
                "reasons": after.reasons,
            }
            for after in job.changes
        ],
    }
