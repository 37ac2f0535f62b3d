"""What must hold in every state that can be reached, and what must stay within reach."""

from tests.model.states import CONTROLLERS, MEMBERS, NODES, World


def violation(world: World) -> str:
    """Which invariant a state breaks, in words; empty for none."""
    if world.quiet:
        if any(agent.hop != hop for agent, hop in zip(world.agents, (1, 1, 0), strict=True)):
            return "I6: nothing asked for a change, and a node selects something else"
        if any(message.is_command for agent in world.agents for message in agent.inbox):
            return "I6: nothing asked for a change, and a command is on its way"
    first, second = world.controllers
    for which in CONTROLLERS:
        if world.controllers[which].status == "up" and (broken := _of_active(world, which)):
            return broken
    same = first.status == second.status == "up" and first.epoch == second.epoch
    if same and _both_lead(world) and any(agent.heard == first.epoch == agent.did[0] for agent in world.agents):
        return f"I3: two controllers lead with the same epoch {first.epoch}"
    return ""


def _both_lead(world: World) -> bool:
    return all(any(agent.session == which for agent in world.agents) for which in CONTROLLERS)


def _of_active(world: World, which: int) -> str:
    """I2: what is believed ACTIVE by who has the sessions of its nodes is so, stays so, and is nobody else's."""
    controller = world.controllers[which]
    members = MEMBERS[controller.chain]
    if controller.ring != "ACTIVE" or any(world.agents[node].session != which for node in members):
        return ""
    for node in members:
        agent = world.agents[node]
        if any(message.is_command and message.epoch == controller.epoch for message in agent.inbox):
            return f"I2: chain {controller.chain} is ACTIVE, and a command for node {node} is still on its way"
        if agent.heard != controller.epoch:
            text = f"I3: chain {controller.chain} is ACTIVE in epoch {controller.epoch}"
            return f"{text}, and node {node} obeys {agent.heard}"
        if agent.hop != controller.chain and not controller.views[node].mail:
            return f"I2: chain {controller.chain} is ACTIVE, and node {node} selects hop {agent.hop}"
    return ""


def violation_of_step(before: World, after: World) -> str:
    """I4: only a command or an unconfirmed change that comes to its end moves a selection."""
    for node in NODES:
        old, new = before.agents[node], after.agents[node]
        if old.hop != new.hop and old.did == new.did and old.undo in (-1, new.undo):
            return f"I4: node {node} changes its selection by itself"
    return ""


def is_good(world: World) -> bool:
    """The ring is ACTIVE, and the light is the plan's: proven by the controller that leads, on nodes that are well."""
    which = world.newest()
    if which < 0:
        return False
    controller = world.controllers[which]
    members = MEMBERS[controller.chain]
    return (
        controller.ring == "ACTIVE"
        and not (world.fault and 0 in members)
        and all(world.agents[node].session == which and world.lit(node) == controller.chain for node in members)
        and not any(world.agents[node].undo != -1 and not world.agents[node].inbox for node in members)
    )
