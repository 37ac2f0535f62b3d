"""Requests from people and schedulers: each is decided by its own module, and answered here, refused ones too."""

from ringlight.controller.engine.drain import drain
from ringlight.controller.engine.effects import Answer, PlannedChange
from ringlight.controller.engine.events import (
    Cordon,
    Drain,
    OperatorRequest,
    ReleaseJob,
    ResizeJob,
    SubmitJob,
    Uncordon,
)
from ringlight.controller.engine.operator import release, submit
from ringlight.controller.engine.overlays import cordon, uncordon
from ringlight.controller.engine.repair import Change
from ringlight.controller.engine.resize import resize
from ringlight.controller.engine.state import State
from ringlight.fabric.errors import RinglightError


def carry_out(state: State, request: OperatorRequest, change: Change, now: float) -> None:
    """Do as asked, or refuse and change nothing; answer either way."""
    try:
        planned = _carry_out(state, request, change, now)
    except RinglightError as error:
        state.emit(Answer(request.request, error))
        return
    dry = isinstance(request, Drain | ResizeJob) and request.dry_run
    state.emit(Answer(request.request, planned=planned, dry=dry))


def _carry_out(state: State, request: OperatorRequest, change: Change, now: float) -> PlannedChange:
    match request:
        case SubmitJob():
            submit(state, request, change, now)
        case ReleaseJob():
            release(state, request, change, now)
        case ResizeJob():
            return resize(state, request, change, now)
        case Cordon():
            cordon(state, request)
        case Uncordon():
            uncordon(state, request)
        case Drain():
            return drain(state, request, change, now)
    return PlannedChange()
