"""Works out where the rings of a new job would best lie with regard to racks, beside the event loop.

That takes about half a millisecond a node, and no fault may wait for it. So it is done on a copy of the planner in a
thread, and what comes of it is a proposal: the engine looks whether it can still be laid (`planning.proposal`), and
lays the rings without regard to racks otherwise.
"""

import asyncio
from dataclasses import replace

from ringlight.controller.engine.events import SubmitJob
from ringlight.controller.engine.state import State


async def with_proposal(state: State, job: SubmitJob) -> SubmitJob:
    """The request with a proposal, if there is anything to propose."""
    nodes, rest = divmod(job.tp, state.wiring.spec.gpus)
    if rest or nodes <= 0 or job.rings <= 0 or job.name in state.jobs:
        return job  # it will be refused
    planner = state.planner.copy()
    for position in state.audits.members:
        planner.order.set_usable(position, usable=False)
    chains = await asyncio.to_thread(planner.align, nodes, min(job.rings, state.wiring.size // nodes))
    return replace(job, proposal=chains)
