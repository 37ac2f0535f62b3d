"""What controllers do in the model: the engine's order of things (`controller.engine.engine.Engine.handle`).

Each function takes a controller and an event in and returns the controller after it and the messages that leave, as
`handle` returns its effects; they are pure, so what was worked out once is remembered. Light is part of the event, as
it is in hello, answer and report.
"""

from functools import cache

from tests.model.adoption import adopt_light
from tests.model.rules import Rules
from tests.model.states import MEMBERS, NODES, UNKNOWN_VIEW, UNREAD, Agent, Answer, Controller, Message, Record, View

Out = tuple[tuple[int, Message], ...]
Step = tuple[Controller, Out]


def start(rules: Rules, born: int, epoch: int, reserved: int, record: Record) -> Step:
    """`restore`: what the store remembers becomes a claim, and nothing is commanded."""
    established = record.active
    ring = "VERIFYING" if established else "SWITCHING"
    view = View(generation=record.generation)
    views = tuple(view if node in MEMBERS[record.chain] else UNKNOWN_VIEW for node in NODES)
    controller = Controller(
        status="up",
        born=born,
        epoch=epoch,
        base=reserved,
        generation=reserved,
        ring=ring if record.chain else "BROKEN",
        chain=record.chain,
        ring_generation=record.generation,
        established=established and bool(record.chain),
        planned=record.drain == "draining" and bool(record.chain) and not established,
        drain="cordoned" if record.drain and established else record.drain,
        views=views,
    )
    if rules.silent_start:
        return controller, ()
    # The mistake: to write what the store says, to be on the safe side.
    return controller, tuple((node, Message(epoch, reserved + 1, controller.wanted(node))) for node in NODES)


@cache
def hello(rules: Rules, controller: Controller, node: int, agent: Agent, lit: int, *, failed: bool, owns: bool) -> Step:
    """`welcome` and `_adopt`: take over what the hardware says. A controller that is deposed by it says so itself."""
    controller = _outrank(rules, controller, node, agent, owns=owns)
    if controller.status == "deposed":
        return controller, ()
    former = controller.views[node]
    first = former.seen == UNREAD
    view = View(
        session=True,
        seen=agent.hop,
        generation=former.generation,
        owed=0,
        failed=failed,
        lit=lit,
        foreign=not 0 < agent.generation <= controller.base if first else former.foreign,
        awaits=agent.undo_of,
    )
    controller = controller.seeing(node, view)
    out: list[tuple[int, Message]] = []
    if view.awaits and controller.in_place(node):
        if controller.ring == "ACTIVE":
            controller = _confirm(controller, node, out)
        elif controller.chain:
            controller = controller._replace(planned=True)
    opens = not controller.open and all(other.seen != UNREAD for other in controller.views)
    strange = controller.open and view.foreign
    if controller.open and _needs_parking(controller, node):
        generation = controller.generation + 1
        controller = _command(controller._replace(generation=generation), node, generation, out)
    if opens or strange:
        controller = adopt_light(controller._replace(open=True))
    return _settle(rules, controller, out)


def _outrank(rules: Rules, controller: Controller, node: int, agent: Agent, *, owns: bool) -> Controller:
    """`_refuse_if_deposed` and `_outrank`."""
    fresh = not controller.commanded
    may = {"all": True, "uncommanded": fresh, "owner": fresh and owns}[rules.outranks]
    if agent.epoch > controller.epoch and not may:
        return controller._replace(status="deposed")
    unheard_of = controller.views[node].seen == UNREAD
    equal = rules.outranks_equals and unheard_of and agent.epoch == controller.epoch
    if agent.epoch > controller.epoch or equal:
        controller = controller._replace(epoch=agent.epoch + 1)
    applied = agent.generation if rules.follows_generations else 0
    return controller._replace(generation=max(controller.generation, applied))


@cache
def grace_over(rules: Rules, controller: Controller) -> Step:
    """`_open_up` when not every agent was heard."""
    return _settle(rules, adopt_light(controller._replace(open=True)), [])


@cache
def lose(controller: Controller, node: int) -> Step:
    """`lose`: the end of a session says nothing about the node."""
    return controller.seeing(node, controller.views[node]._replace(session=False, mail=())), ()


@cache
def take_answer(rules: Rules, controller: Controller, node: int, lit: int) -> Step:
    """`take_answer`, of the first answer that waits."""
    view = controller.views[node]
    answer: Answer = view.mail[0]
    view = view._replace(mail=view.mail[1:], seen=answer.hop, lit=lit)
    if answer.code == "reverted":
        view = view._replace(awaits=0)
    out: list[tuple[int, Message]] = []
    ours = answer.epoch == view.told or not rules.answers_by_epoch
    if (answer.generation == view.generation and ours) or not rules.answers_by_generation:
        if answer.code == "stale epoch" and answer.highest_epoch > controller.epoch:
            return controller._replace(status="deposed"), ()
        if answer.code.startswith("stale"):
            view = view._replace(unanswered=True)
        else:
            view = view._replace(owed=0, unanswered=False)
            if not rules.answers_by_generation:
                view = view._replace(seen=controller.wanted(node))
    controller = controller.seeing(node, view)
    if view.foreign and controller.open:
        controller = adopt_light(controller)
        view = controller.views[node]
    if not view.owed and node not in MEMBERS[controller.chain] and view.awaits and not controller.planned:
        controller = _confirm(controller, node, out)
    return _settle(rules, controller, out)


@cache
def take_light(rules: Rules, controller: Controller, node: int, lit: int) -> Step:
    """`note_light`."""
    controller = controller.seeing(node, controller.views[node]._replace(lit=lit))
    if controller.views[node].foreign and controller.open:
        controller = adopt_light(controller)
    return _settle(rules, controller, [])


@cache
def take_health(rules: Rules, controller: Controller, node: int, *, failed: bool) -> Step:
    """`open_fault`, or `close_fault` once probation is over."""
    return _settle(rules, controller.seeing(node, controller.views[node]._replace(failed=failed)), [])


@cache
def time_out(rules: Rules, controller: Controller) -> Step:
    """`time_out` of a ring that is SWITCHING: who was told and is not in place is planned without."""
    for node in MEMBERS[controller.chain]:
        if controller.views[node].owed == 2:
            controller = controller.seeing(node, controller.views[node]._replace(unanswered=True))
    return _settle(rules, controller, [])


def drain(rules: Rules, controller: Controller) -> Step:
    """An operator drains node 0: a planned change, which agents undo unless it is confirmed. Refused if it costs."""
    if not _best_chain(controller._replace(drain="draining")):
        return controller, ()
    return _settle(rules, controller._replace(drain="draining"), [], planned=True)


def _settle(rules: Rules, controller: Controller, out: list[tuple[int, Message]], *, planned: bool = False) -> Step:
    """`_look_at_rings`, `_plan`, and once more `_look_at_rings`."""
    if _is_damaged(rules, controller):
        if controller.open or _knows_enough(controller):
            controller = _plan(rules, controller, out, planned=planned)
        if rules.damaged_is_not_active and controller.ring == "ACTIVE":
            controller = controller._replace(ring="BROKEN")
    elif not controller.chain and controller.open:
        controller = _plan(rules, controller, out, planned=planned)
    if controller.chain and not _is_damaged(rules, controller):
        controller = _advance(rules, controller, out)
    return controller, tuple(out)


def _is_damaged(rules: Rules, controller: Controller) -> bool:
    """`damage`."""
    for node in MEMBERS[controller.chain]:
        view = controller.views[node]
        answered = not view.owed or not rules.counts_in_flight
        astray = view.seen not in (UNREAD, controller.chain) and answered and not view.is_being_undone
        if view.failed or view.unanswered or astray or (node == 0 and controller.drain == "draining"):
            return True
    return False


def _knows_enough(controller: Controller) -> bool:
    views = [controller.views[node] for node in MEMBERS[controller.chain]]
    return any(view.failed for view in views) and all(view.failed or view.seen != UNREAD for view in views)


def _is_foreign_light(controller: Controller, node: int) -> bool:
    """`carries_foreign_light`."""
    view = controller.views[node]
    return view.foreign and 0 < view.seen == view.lit != controller.wanted(node)


def _is_usable(controller: Controller, node: int) -> bool:
    """`is_usable` and `may_stay`."""
    view = controller.views[node]
    fine = view.session and view.seen != UNREAD and not view.unanswered and not view.failed
    return fine and not (node == 0 and controller.drain) and not _is_foreign_light(controller, node)


def _plan(rules: Rules, controller: Controller, out: list[tuple[int, Message]], *, planned: bool) -> Controller:
    """`plan_job` and `apply_plan`: the chain it has, if that will do, else another, else none."""
    chain = _best_chain(controller)
    if not chain and controller.drain == "draining" and controller.planned and controller.open:
        controller = controller._replace(drain="")  # `without_drains`: rather give up the drain than the ring
        chain = _best_chain(controller)
        controller = controller if chain else controller._replace(drain="draining")
    if not chain and (not controller.open or not controller.chain):
        return controller
    generation = controller.generation + 1
    laid = controller._replace(
        generation=generation,
        ring="SWITCHING" if chain else "BROKEN",
        chain=chain,
        ring_generation=generation,
        established=False,
        planned=planned if controller.established else controller.planned,
    )
    affected = {*MEMBERS[controller.chain], *MEMBERS[chain]} | ({0} if controller.drain == "draining" else set())
    for node in sorted(affected):
        view = laid.views[node]
        in_place = controller.in_place(node) or (not rules.counts_in_flight and view.seen == laid.wanted(node))
        if in_place and (laid.wanted(node) == controller.wanted(node) or not rules.counts_in_flight):
            continue
        laid = _command(laid, node, generation, out)
    if laid.drain == "draining" and not chain:
        laid = laid._replace(drain="cordoned")
    return laid


def _best_chain(controller: Controller) -> int:
    for chain in (controller.chain, 1, 2):
        if chain and all(_is_usable(controller, node) for node in MEMBERS[chain]):
            return chain
    return 0


def _command(controller: Controller, node: int, generation: int, out: list[tuple[int, Message]]) -> Controller:
    """`command`: tell a node's agent, if there is a session to tell it over."""
    view = controller.views[node]
    if not view.session:
        return controller.seeing(node, view._replace(generation=generation, owed=1, foreign=False))
    leaves = node == 0 and controller.drain == "draining"
    planned = controller.planned and (node in MEMBERS[controller.chain] or leaves)
    out.append((node, Message(controller.epoch, generation, controller.wanted(node), planned)))
    awaits = generation if planned else 0
    view = view._replace(generation=generation, owed=2, told=controller.epoch, foreign=False, awaits=awaits)
    return controller._replace(commanded=True).seeing(node, view)


def _advance(rules: Rules, controller: Controller, out: list[tuple[int, Message]]) -> Controller:
    """`advance`: ACTIVE only when every bundle was read back right and both ends see light."""
    members = MEMBERS[controller.chain]
    if controller.ring == "BROKEN":  # `_stand_again`
        controller = controller._replace(ring="SWITCHING")
    seen = all(controller.views[node].seen == controller.chain for node in members)
    in_place = all(controller.in_place(node) for node in members) or (seen and not rules.counts_in_flight)
    if controller.ring == "SWITCHING" and in_place:
        controller = controller._replace(ring="VERIFYING")
    lit = all(controller.views[node].lit == controller.chain for node in members)
    if controller.ring == "VERIFYING" and in_place and lit:
        controller = controller._replace(ring="ACTIVE", established=True)
        controller = _commit(controller, out)
    return controller


def _commit(controller: Controller, out: list[tuple[int, Message]]) -> Controller:
    """`commit` and `let_go`: what the nodes have stands, and the drain is done."""
    was_planned = controller.planned
    drained = "cordoned" if controller.drain == "draining" else controller.drain
    controller = controller._replace(planned=False, drain=drained)
    for node in NODES:
        view = controller.views[node]
        if view.session and ((was_planned and node in MEMBERS[controller.chain]) or (view.awaits and not view.owed)):
            controller = _confirm(controller, node, out)
    return controller


def _confirm(controller: Controller, node: int, out: list[tuple[int, Message]]) -> Controller:
    view = controller.views[node]
    out.append((node, Message(controller.epoch, view.awaits or view.generation, UNREAD)))
    return controller.seeing(node, view._replace(awaits=0))


def _needs_parking(controller: Controller, node: int) -> bool:
    view = controller.views[node]
    idle = node not in MEMBERS[controller.chain] and view.seen > 0
    return idle and not view.is_being_undone and not _is_foreign_light(controller, node)
