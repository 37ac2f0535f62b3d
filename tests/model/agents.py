"""What agents do in the model. The decision to obey is the real one, of `ringlight.agents.fencing`."""

from functools import cache
from typing import NamedTuple

from ringlight.agents.fencing import Fence, Refusal
from tests.model.rules import Rules
from tests.model.states import NOBODY, UNREAD, Agent, Answer, Message

_NODE = "n"


@cache
def _refusal(seen: int, applied: int, epoch: int, generation: int) -> Refusal | None:
    return Fence(seen, {_NODE: applied}).refusal(node=_NODE, epoch=epoch, generation=generation)


@cache
def _after(seen: int, applied: int, epoch: int, generation: int) -> tuple[int, int]:
    fence = Fence(seen, {_NODE: applied}).saw(epoch).applied(_NODE, generation)
    return fence.epoch, fence.generations[_NODE]


class Done(NamedTuple):
    """What came of a command, and which invariant its being carried out breaks, if any."""

    agent: Agent
    answer: Answer
    broken: str = ""


def see(agent: Agent, epoch: int) -> Agent:
    """`FenceFile.see`: a higher epoch is written, with everything noted so far, before it is obeyed."""
    if epoch <= agent.epoch:
        return agent
    return agent._replace(epoch=epoch, kept=agent.generation, heard=max(epoch, agent.heard))


@cache
def execute(rules: Rules, agent: Agent, command: Message) -> Done:
    """`Executor.apply`, as one step: a crash in its middle leaves what one just before or just after it leaves."""
    agent = see(agent, command.epoch)
    refusal = _refusal(agent.epoch, agent.generation, command.epoch, command.generation)
    if refusal is not None and rules.fences:
        code = "stale epoch" if refusal is Refusal.STALE_EPOCH else "stale generation"
        return Done(agent, Answer(command.epoch, command.generation, code, agent.hop, agent.epoch))
    broken = _broken(agent, command)
    _, generation = _after(agent.epoch, agent.generation, command.epoch, command.generation)
    undo, undo_of = UNREAD, 0
    if command.planned:
        undo, undo_of = (agent.hop if agent.undo == UNREAD else agent.undo), command.generation
    agent = agent._replace(
        hop=command.hop, generation=generation, did=(command.epoch, command.generation), undo=undo, undo_of=undo_of
    )
    return Done(agent, Answer(command.epoch, command.generation, "applied", agent.hop, agent.epoch), broken)


def _broken(agent: Agent, command: Message) -> str:
    epoch, generation = agent.did
    if command.epoch < agent.heard:
        return f"I3: carries out a command of epoch {command.epoch} after it heard of epoch {agent.heard}"
    if command.epoch == epoch and command.generation < generation:
        return f"I5: carries out generation {command.generation} after {generation} of the same epoch"
    return ""


def confirm(agent: Agent, message: Message) -> Agent:
    """`Executor.confirm`."""
    if message.epoch >= agent.epoch and message.generation == agent.undo_of:
        return agent._replace(undo=UNREAD, undo_of=0)
    return agent


def revert(agent: Agent) -> Done:
    """`Executor.revert`: the time to confirm is over."""
    answer = Answer(agent.epoch, agent.undo_of, "reverted", agent.undo, agent.epoch)
    return Done(agent._replace(hop=agent.undo, undo=UNREAD, undo_of=0), answer)


def crash(rules: Rules, agent: Agent) -> list[Agent]:
    """The process dies and is started again: hardware stays, what was noted lazily may be lost."""
    left = Agent(
        session=NOBODY,
        hop=agent.hop if rules.stays_put else 0,
        epoch=agent.epoch if rules.keeps_epoch else min(agent.epoch, 1),
        generation=agent.generation,
        kept=agent.generation,
        heard=agent.heard,
        did=agent.did,
    )
    if agent.kept == agent.generation:
        return [left]
    return [left, left._replace(generation=agent.kept, kept=agent.kept)]
