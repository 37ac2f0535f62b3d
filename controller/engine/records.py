"""Everything that a store must hold, for one that is begun anew: the controller's memory is the truth."""

from ringlight.controller.engine.conduct import stored_conduct
from ringlight.controller.engine.effects import Persist
from ringlight.controller.engine.events import StoreBegunAnew
from ringlight.controller.engine.hold import stored_hold
from ringlight.controller.engine.state import State, stored_hop, stored_job, stored_overlay, stored_ring


def everything(state: State) -> Persist:
    """All that is wanted and known: written into an empty store, it loses nothing."""
    conduct = (stored_conduct(state, node) for node in state.nodes)
    return Persist(
        jobs=tuple(stored_job(job) for job in state.jobs.values()),
        rings=tuple(stored_ring(state.wiring, ring) for ring in state.rings.values()),
        overlays=tuple(stored_overlay(node, state.wall_offset) for node in state.nodes if node.overlay is not None),
        conduct=tuple(of_node for of_node in conduct if not of_node.spotless),
        hops=tuple(stored_hop(state, key) for key in sorted({*state.dead_hops, *state.untested})),
        hold=stored_hold(state),
        epoch=state.epoch,
        reserved=state.reserved,
        generation=max(state.generation, state.audits.spoken_for),
    )


def tell_begun_anew(state: State, event: StoreBegunAnew) -> None:
    """Say that the store was lost, and what became of it."""
    kept = f"; what was there is kept as {event.kept_as}" if event.kept_as else ""
    state.tell("store-begun-anew", state.wiring.spec.name, f"{event.reason}; written anew from memory{kept}")
