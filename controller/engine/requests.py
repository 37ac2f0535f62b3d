"""Requests from people and schedulers: each is decided by its own module, and answered here, refused ones too."""

from ringlight.controller.engine.assessment import trust_hops
from ringlight.controller.engine.audit import begin_audit, withheld
from ringlight.controller.engine.conduct import release_quarantine
from ringlight.controller.engine.drain import drain
from ringlight.controller.engine.effects import Answer, PlannedChange
from ringlight.controller.engine.events import (
    BeginAudit,
    Cordon,
    DeclareDead,
    Drain,
    OperatorRequest,
    Pause,
    ReleaseJob,
    ReleaseQuarantine,
    ReportStall,
    ResetBreaker,
    ResizeJob,
    Resume,
    SubmitJob,
    TrustHops,
    Uncordon,
)
from ringlight.controller.engine.hold import pause, refuse_if_held, reset_breaker, resume
from ringlight.controller.engine.operator import release, submit
from ringlight.controller.engine.overlays import cordon, uncordon
from ringlight.controller.engine.repair import Change
from ringlight.controller.engine.resize import resize
from ringlight.controller.engine.state import State
from ringlight.controller.engine.witnesses import declare_dead, report_stall
from ringlight.fabric.errors import RinglightError


def carry_out(state: State, request: OperatorRequest, change: Change, now: float) -> None:
    """Do as asked, or refuse and change nothing; answer either way."""
    dry = isinstance(request, Drain | ResizeJob) and request.dry_run
    planned = PlannedChange()
    try:
        if isinstance(request, SubmitJob | ReleaseJob | ResizeJob | Drain):
            if not dry:
                refuse_if_held(state)
            with withheld(state, now):
                planned = _move(state, request, change, now)
        elif isinstance(request, BeginAudit):
            begin_audit(state, request, now)
        elif isinstance(request, Pause | Resume | ResetBreaker):
            _hold(state, request)
        else:
            _note(state, request, now)
    except RinglightError as error:
        state.emit(Answer(request.request, error))
        return
    state.emit(Answer(request.request, planned=planned, dry=dry))


def _move(
    state: State, request: SubmitJob | ReleaseJob | ResizeJob | Drain, change: Change, now: float
) -> PlannedChange:
    """Requests that move light."""
    match request:
        case SubmitJob():
            submit(state, request, change, now)
        case ReleaseJob():
            release(state, request, change, now)
        case ResizeJob():
            return resize(state, request, change, now)
        case Drain():
            return drain(state, request, change, now)
    return PlannedChange()


def _hold(state: State, request: Pause | Resume | ResetBreaker) -> None:
    """Requests that say whether anything may move."""
    match request:
        case Pause():
            pause(state, request)
        case Resume():
            resume(state)
        case ResetBreaker():
            reset_breaker(state)


_Remark = Cordon | Uncordon | ReleaseQuarantine | TrustHops | ReportStall | DeclareDead


def _note(state: State, request: _Remark, now: float) -> None:
    """Requests that say something about parts of the fabric; what follows from it is for the engine to see."""
    match request:
        case Cordon():
            cordon(state, request)
        case Uncordon():
            uncordon(state, request)
        case ReleaseQuarantine():
            release_quarantine(state, request)
        case TrustHops():
            trust_hops(state, request)
        case ReportStall():
            report_stall(state, request, now)
        case DeclareDead():
            declare_dead(state, request, now)
