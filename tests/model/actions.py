"""Everything that can happen next: each action with the world after it, named after what it stands for.

Sound reductions, so that a small machine explores all of it:
- A hello, its handling and the welcome are one step: until the welcome is heard, the agent changes by itself only when
  it carries out a command it had taken before, and that is an action of its own (`said hello, then obeyed`).
- A session breaks for the agent at one moment and for the controller at a later one (`lose`); what the controller
  sends in between is lost, and what the agent had taken already may be kept.
- Reports of light and health are read at any time after what they tell of, and may overtake answers.
- The two controllers are the same program: they are kept in the order of their starts.
- Records reach the store at any time after their commands, or never: a start picks any that may be there.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model import agents, engine
from tests.model.engine import Out
from tests.model.rules import Rules
from tests.model.states import (
    BLOCK,
    CONTROLLERS,
    FORGOTTEN,
    MEMBERS,
    NOBODY,
    NODES,
    UNREAD,
    Agent,
    Answer,
    Controller,
    Message,
    Store,
    World,
)


class Next(NamedTuple):
    """One action: what it is, in words; the world after it; whether it is bound to come if nothing goes wrong."""

    what: str
    world: World
    fair: bool = True
    broken: str = ""


def successors(rules: Rules, world: World) -> Iterator[Next]:
    """Every action that is possible, paused controllers and slow agents included: they just come later."""
    for node in NODES:
        yield from _agent_steps(rules, world, node)
    for which in CONTROLLERS:
        controller = world.controllers[which]
        if controller.status == "up":
            yield from _controller_steps(rules, world, which, controller)
        elif controller.status == "down":
            overlaps = world.newest() != NOBODY
            if not overlaps or world.left.overlaps:
                yield from _starts(rules, world.spending("overlaps") if overlaps else world, which)
    yield from _faults(rules, world)


def _send(world: World, which: int, out: Out) -> World:
    """Put messages on the streams of agents that still listen to a controller; others are lost."""
    for node, message in out:
        agent = world.agents[node]
        if agent.session == which:
            world = world.with_agent(node, agent._replace(inbox=(*agent.inbox, message)))
    return world


def _after(rules: Rules, world: World, which: int, controller: Controller, out: Out) -> World:
    """The world after a step of a controller: its record may reach the store, its commands are on their way."""
    former = world.controllers[which]
    if controller.status == "deposed":
        return _gone(rules, world, which)
    store = world.store
    if controller.born == store.owner:
        if controller.record != former.record:
            records = tuple(record for record in store.records if record != controller.record)
            store = store._replace(records=(*records, controller.record))
        if controller.epoch > former.epoch:
            store = store._replace(epochs=(*store.epochs, controller.epoch))
    return _send(world._replace(store=store).with_controller(which, controller), which, out)


def _gone(rules: Rules, world: World, which: int) -> World:
    """A controller is deposed, and lets go of its agents (`depose`). Restarting it is starting the other one."""
    for node in NODES:
        if world.agents[node].session == which:
            agent = world.agents[node]
            world = world.with_agent(node, agent._replace(session=NOBODY, inbox=_kept(rules, agent)))
    return world.with_controller(which, FORGOTTEN)


# -- agents ------------------------------------------------------------------------------------------------------------


def _agent_steps(rules: Rules, world: World, node: int) -> Iterator[Next]:
    agent = world.agents[node]
    if agent.session != NOBODY and agent.inbox:
        yield from _take_message(rules, world, node)
    if agent.undo != UNREAD and world.left.reverts:
        done = agents.revert(agent)
        after = _answered(world.spending("reverts").with_agent(node, done.agent), node, done)
        yield Next(f"node {node} undoes what nobody confirmed", after, fair=False)
    if world.left.crashes:
        for left in agents.crash(rules, agent):
            lost = "" if left.generation == agent.generation else " and forgets the generation it had noted"
            after = world.spending("crashes").with_agent(node, left)
            yield Next(f"agent {node} crashes{lost}, and is started again", after, fair=False)


def _take_message(rules: Rules, world: World, node: int) -> Iterator[Next]:
    agent = world.agents[node]
    message, later = agent.inbox[0], agent.inbox[1:]
    rest = world.with_agent(node, agent._replace(inbox=later))
    if not message.is_command:
        confirmed = agents.confirm(agent._replace(inbox=later), message)
        yield Next(f"node {node} hears a confirmation", world.with_agent(node, confirmed))
        return
    done = agents.execute(rules, agent._replace(inbox=later), message)
    what = f"node {node} gets epoch {message.epoch}, generation {message.generation}, hop {message.hop}"
    yield Next(
        f"{what}: {done.answer.code}", _answered(rest.with_agent(node, done.agent), node, done), broken=done.broken
    )
    if any(other.is_command for other in later):
        yield Next(f"node {node}: a later command replaces one that had not begun", rest)


def _answered(world: World, node: int, done: agents.Done) -> World:
    """An answer goes to whoever the agent has a session with."""
    which = world.agents[node].session
    if which == NOBODY:
        return world
    controller = world.controllers[which]
    view = controller.views[node]
    return world.with_controller(which, controller.seeing(node, view._replace(mail=(*view.mail, done.answer))))


# -- controllers -------------------------------------------------------------------------------------------------------


def _starts(rules: Rules, world: World, which: int) -> Iterator[Next]:
    """`SqliteStore.open`: the next epoch and a new block of generations are on disk, then the engine is restored."""
    born = 1 + max(controller.born for controller in world.controllers)
    reserved = world.store.reserved if rules.reserves_generations else 0
    for epoch in world.store.epochs:
        for record in world.store.records:
            term = epoch + 1 if rules.new_epoch_at_start or not epoch else epoch
            controller, out = engine.start(rules, born, term, reserved, record)
            store = Store((term,), born, world.store.reserved + BLOCK, (record,))
            after = world._replace(store=store).with_controller(which, controller)
            for node in NODES:  # with the mistake of commands at the start, they wait for whoever dials in
                agent = after.agents[node]
                sent = tuple(message for told, message in out if told == node)
                after = after.with_agent(node, agent._replace(inbox=(*agent.inbox, *sent))) if sent else after
            broken = "I6: a start commands" if out else ""
            state = "proven" if record.active else "in the middle of a change"
            what = f"a controller starts with epoch {term}; the store says chain {record.chain}, {state}"
            yield Next(what, _ordered(after), broken=broken)


def _ordered(world: World) -> World:
    """The same world, the controller that was started first standing first."""
    first, second = world.controllers
    if first.born <= second.born:
        return world
    swapped = {NOBODY: NOBODY, 0: 1, 1: 0}
    turned = tuple(agent._replace(session=swapped[agent.session]) for agent in world.agents)
    return world._replace(controllers=(second, first), agents=turned)


def _name(world: World, which: int) -> str:
    return f"controller of epoch {world.controllers[which].epoch}"


def _controller_steps(rules: Rules, world: World, which: int, controller: Controller) -> Iterator[Next]:
    name = _name(world, which)
    former = which != world.newest()
    for node in NODES:
        agent, view = world.agents[node], controller.views[node]
        if agent.session != which and (not former or (world.left.strays and agent.session == NOBODY)):
            yield from _meetings(rules, world, which, node)
        if agent.session == which and not former and world.left.cuts:
            yield from _cuts(rules, world, which, node)
        elif agent.session != which and view.session:
            yield Next(
                f"{name} notices that node {node} is gone", _after(rules, world, which, *engine.lose(controller, node))
            )
        if view.mail:
            step = engine.take_answer(rules, controller, node, world.lit(node))
            yield Next(f"{name} reads: node {node} {view.mail[0].code}", _after(rules, world, which, *step))
        if agent.session == which:
            yield from _reports(rules, world, which, node)
    if not controller.open and world.left.graces:
        after = _after(rules, world.spending("graces"), which, *engine.grace_over(rules, controller))
        yield Next(f"{name} waits no longer for agents", after, fair=False)
    yield from _deadlines(rules, world, which)
    if world.left.crashes:
        yield Next(f"{name} crashes", _ordered(_crashed(rules, world.spending("crashes"), which)), fair=False)


def _crashed(rules: Rules, world: World, which: int) -> World:
    return _gone(rules, world, which).with_controller(which, Controller())


def _reports(rules: Rules, world: World, which: int, node: int) -> Iterator[Next]:
    """Light and health, as soon as they matter to the controller and differ from what it believes."""
    controller = world.controllers[which]
    view, lit = controller.views[node], world.lit(node)
    failed = world.fault and node == 0
    proves = controller.ring in ("SWITCHING", "VERIFYING") and node in MEMBERS[controller.chain]
    if view.lit != lit and (proves or (view.foreign and view.lit)):
        step = engine.take_light(rules, controller, node, lit)
        light = f"sees light on hop {lit}" if lit else "sees no light"
        yield Next(f"{_name(world, which)} hears: node {node} {light}", _after(rules, world, which, *step))
    if view.failed != failed:
        step = engine.take_health(rules, controller, node, failed=failed)
        health = "failed" if failed else "is well again"
        yield Next(f"{_name(world, which)} hears: node {node} {health}", _after(rules, world, which, *step))


def _meetings(rules: Rules, world: World, which: int, node: int) -> Iterator[Next]:
    """An agent without a session dials, or one that hears nothing from the former controller any more.

    What it had taken and not begun is lost with the session, or kept, or carried out between hello and welcome.
    """
    former = which != world.newest()
    world = world.spending("strays") if former else world
    agent = world.agents[node]
    kept = _kept(rules, agent)
    empty = world.with_agent(node, agent._replace(inbox=()))
    what = f"node {node} and the {_name(world, which)} meet"
    yield Next(what, _met(rules, empty, which, node)[0], not former)
    if kept:
        holding = world.with_agent(node, agent._replace(inbox=kept))
        yield Next(f"{what}; it still has a command", _met(rules, holding, which, node)[0], fair=False)
        after, broken = _met(rules, empty, which, node, late=kept)
        what = f"node {node} says hello to the {_name(world, which)}, then carries out what it was told before"
        yield Next(what, after, fair=False, broken=broken)


def _kept(rules: Rules, agent: Agent) -> tuple[Message, ...]:
    """The command that an agent may still have when its session is over."""
    return () if rules.forgets_commands else tuple(message for message in agent.inbox if message.is_command)[-1:]


def _met(rules: Rules, world: World, which: int, node: int, late: tuple[Message, ...] = ()) -> tuple[World, str]:
    agent, broken = world.agents[node], ""
    failed = world.fault and node == 0
    owns = world.controllers[which].born == world.store.owner
    step = engine.hello(rules, world.controllers[which], node, agent, world.lit(node), failed=failed, owns=owns)
    answers: tuple[Answer, ...] = ()
    for command in late:
        done = agents.execute(rules, agent, command)
        agent, broken, answers = done.agent, done.broken, (done.answer,)
    controller, out = step
    if controller.status == "deposed":
        return _gone(rules, world.with_agent(node, agent), which), broken
    if controller.epoch < agent.epoch and rules.fences:  # `Session._open`: an earlier controller came back
        controller, _ = engine.lose(controller, node)
        return _after(rules, world.with_agent(node, agent), which, controller, out), broken
    if controller.epoch < agent.heard:
        broken = broken or f"I3: follows a controller of epoch {controller.epoch} after it heard of {agent.heard}"
    controller = controller.seeing(node, controller.views[node]._replace(mail=answers))
    agent = agents.see(agent, controller.epoch)._replace(session=which)
    return _after(rules, world.with_agent(node, agent), which, controller, out), broken


def _cuts(rules: Rules, world: World, which: int, node: int) -> Iterator[Next]:
    """The session with the present controller breaks; a command that was taken and not begun is lost, or kept."""
    agent = world.agents[node]
    kept = _kept(rules, agent)
    choices = [((), ""), (kept, ", with a command it has not begun")]
    for inbox, also in choices if kept else choices[:1]:
        left = agent._replace(session=NOBODY, inbox=inbox)
        yield Next(
            f"node {node} loses the {_name(world, which)}{also}",
            world.spending("cuts").with_agent(node, left),
            fair=False,
        )


def _deadlines(rules: Rules, world: World, which: int) -> Iterator[Next]:
    controller = world.controllers[which]
    late = [node for node in MEMBERS[controller.chain] if controller.views[node].owed == 2]
    if controller.ring != "SWITCHING" or not late:
        return
    coming = any(
        world.agents[node].session == which and (world.agents[node].inbox or controller.views[node].mail)
        for node in late
    )
    early = coming or which != world.newest()
    if early and not world.left.timeouts:
        return
    after = _after(rules, world.spending("timeouts") if early else world, which, *engine.time_out(rules, controller))
    yield Next(f"{_name(world, which)} gives up waiting for an answer", after, fair=not early)


# -- what goes wrong, and what people ask for -------------------------------------------------------------------------


def _faults(rules: Rules, world: World) -> Iterator[Next]:
    if world.left.faults and not world.fault:
        yield Next("a GPU of node 0 dies", world.spending("faults")._replace(fault=True, quiet=False), fair=False)
    if world.left.recoveries and world.fault:
        yield Next("node 0 is well again", world.spending("recoveries")._replace(fault=False), fair=False)
    which = world.newest()
    if world.left.drains and which != NOBODY:
        controller = world.controllers[which]
        if controller.open and controller.ring == "ACTIVE" and controller.chain == 1:
            world = world.spending("drains")._replace(quiet=False)
            yield Next(
                "an operator drains node 0", _after(rules, world, which, *engine.drain(rules, controller)), fair=False
            )
