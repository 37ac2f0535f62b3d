"""Worlds that can never differ in anything any more are one: sound reductions, so that all fit a small machine.

A former controller that no agent listens to, and that none will listen to again, is forgotten. What is on disk matters
only to a start, and what an agent had noted but not written only to its crash.
"""

from tests.model.rules import Rules
from tests.model.states import CONTROLLERS, FORGOTTEN, NOBODY, Store, World


def canonical(rules: Rules, world: World) -> World:
    """The same world without what can make no difference any more: what only a crash would bring to light, say."""
    newest = world.newest()
    for which in CONTROLLERS:
        if which != newest and world.controllers[which].status == "up" and _is_over(rules, world, which):
            world = world.with_controller(which, FORGOTTEN)
    if world.left.crashes:
        return world
    if any(agent.kept != agent.generation for agent in world.agents):
        world = world._replace(agents=tuple(agent._replace(kept=agent.generation) for agent in world.agents))
    lasts = newest != NOBODY and all(agent.heard <= world.controllers[newest].epoch for agent in world.agents)
    if any(controller.status == "down" for controller in world.controllers) and (world.left.overlaps or not lasts):
        return world
    if world.store.records:
        world = world._replace(store=Store((), world.store.owner, 0, ()))
    return world


def _is_over(rules: Rules, world: World, which: int) -> bool:
    """Nobody listens to a former controller, and nobody will: none dials it, or whoever does deposes it."""
    if any(agent.session == which for agent in world.agents):
        return False
    former = world.controllers[which]
    deposes = all(agent.heard > former.epoch for agent in world.agents) and rules.outranks == "owner"
    return deposes or not (world.left.crashes or world.left.strays)
