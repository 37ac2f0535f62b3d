"""`ringlight status`: the fabric at a glance, and in one exit code."""

from collections.abc import Mapping

import click
from rich.table import Table

from ringlight.cli.client import ControllerConnection, Peer, controller_options
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.gates import gate_words, held
from ringlight.cli.output import OutputForm, facts, output_option, word
from ringlight.cli.views import View, show, watch_option
from ringlight.protos.v1 import fabric_pb2 as pb

SOUND_RING_STATES = frozenset({"ACTIVE", "RELEASED"})
BAD_VERDICTS = frozenset({"FAILED", "UNREACHABLE", "UNKNOWN", "DEGRADED"})


def degraded(fabric: pb.Fabric) -> bool:
    """Whether something in the fabric waits for a repair or for a person."""
    return bool(
        any(count for state, count in fabric.ring_states.items() if state not in SOUND_RING_STATES)
        or any(count for verdict, count in fabric.verdicts.items() if verdict in BAD_VERDICTS)
        or fabric.dead_hops
        or fabric.invariant_violations
        or fabric.store != "ok"
        or fabric.quarantined
        or held(fabric)
    )


@click.command()
@controller_options
@output_option
@watch_option
def status(peer: Peer, output: OutputForm, *, watch: bool) -> ExitCode:
    """The fabric at a glance.

    Exits with 2 when the fabric is degraded: a ring is neither ACTIVE nor RELEASED, a node is FAILED, UNREACHABLE,
    UNKNOWN, DEGRADED or in quarantine, a hop is dead, a gate is shut, the store is not ok, or an invariant was
    violated. SUSPECT and PROBATION pass by themselves and do not count; nor does the silence gate while agents are
    still dialling in after a start.
    """
    return show(View(_fetch, _table, _exit_code), peer, output, watch=watch)


async def _fetch(controller: ControllerConnection) -> pb.Fabric:
    return await controller.call(controller.stub.GetFabric, pb.GetFabricRequest())


def _exit_code(fabric: pb.Fabric) -> ExitCode:
    return ExitCode.DEGRADED if degraded(fabric) else ExitCode.FINE


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if count) or "none"


def _table(fabric: pb.Fabric) -> Table:
    order = "closed" if fabric.closed else "open"
    # A controller of an older release does not tell its distances: they are 1..K.
    is_nearest = list(fabric.distances) in ([], list(range(1, fabric.k + 1)))
    hops = f"K={fabric.k}" if is_nearest else f"hop distances {', '.join(map(str, fabric.distances))}"
    shape = f"{fabric.nodes} nodes x {fabric.gpus_per_node} GPUs, {hops}, {order} order"
    return facts(
        [
            ("fabric", f"{fabric.name}: {shape}"),
            ("state", word("degraded" if degraded(fabric) else "fine")),
            ("nodes", _counts(fabric.verdicts)),
            ("gates", gate_words(fabric)),
            ("laid over", _counts(fabric.overlays)),
            ("quarantined", str(fabric.quarantined)),
            ("rings", _counts(fabric.ring_states)),
            ("spares", str(fabric.spares)),
            ("dead hops", ", ".join(fabric.dead_hops) or "none"),
            ("untested hops", ", ".join(fabric.untested_hops) or "none"),
            ("GPUs", f"{fabric.gpus_in_rings} in ACTIVE rings, {fabric.gpus_healthy} healthy"),
            ("longest bypass", str(fabric.longest_bypass)),
            ("settled", "yes" if fabric.settled else "no: a transaction is in flight"),
            ("epoch", str(fabric.epoch)),
            ("generation", str(fabric.generation)),
            ("last event", str(fabric.last_event)),
            ("store", fabric.store),
            ("invariant violations", str(fabric.invariant_violations)),
        ]
    )
