"""For each invariant a deliberately broken engine or agent: the simulator must find it out.

If one of these is not found any more, the judge has gone blind, and a thousand good seeds mean nothing.
"""

from dataclasses import replace

import pytest

from ringlight.agents.fencing import Fence
from ringlight.agents.obedience import Obedience, Switch
from ringlight.controller.engine import engine as engine_module
from ringlight.controller.engine.effects import Persist, SendCircuits
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import Restored
from ringlight.controller.engine.repair import command
from ringlight.controller.health import verdicts
from ringlight.controller.health.verdicts import Ground, NeighbourLight, Verdict
from ringlight.simulator.agent import Agent
from ringlight.simulator.operations import WEIGHTS
from ringlight.simulator.runner import Case, run

SEEDS = range(30)
OPERATIONS = 120


def first_words(**parts):
    """What is first found wrong, over seeds until something is."""
    for seed in SEEDS:
        verdict = run(Case(seed, nodes=24, operations=OPERATIONS), **parts)
        if not verdict.good:
            return verdict.problems[0]
    return ""


@pytest.fixture
def unchecked(monkeypatch):
    """The engine's own last check is switched off: it is the judge who must see it."""
    monkeypatch.setattr(engine_module, "check", lambda *_: [])


def test_the_real_engine_is_found_to_be_good():
    assert first_words() == ""


@pytest.mark.usefixtures("unchecked")
def test_i1_every_repair_tells_all_rings(monkeypatch):
    """A plan's commands go to every node that is in a ring."""
    real = engine_module.apply_plan

    def apply_plan(state, job, plan, change, now):
        real(state, job, plan, change, now)
        for node in state.nodes:
            if node.ring and node.name not in {told.node for told in change.commands}:
                command(state, node, change, now)

    monkeypatch.setattr(engine_module, "apply_plan", apply_plan)
    assert first_words().startswith("I1")


@pytest.mark.usefixtures("unchecked")
def test_i2_one_end_of_a_hop_is_told_something_else(monkeypatch):
    """The last node of a chain is told to stay in loopback."""
    real = Engine.handle

    def handle(self, event, now):
        effects = real(self, event, now)
        broken = []
        for effect in effects:
            if isinstance(effect, SendCircuits) and any(path.is_external for path in effect.table):
                broken.append(replace(effect, table=self.state.wiring.loopback))
                break
        told = {effect.node for effect in broken}
        kept = [e for e in effects if not (isinstance(e, SendCircuits) and e.node in told)]
        return [*broken, *kept]

    monkeypatch.setattr(Engine, "handle", handle)
    assert first_words().startswith("I2")


def test_i3_an_agent_forgets_whom_it_obeyed(monkeypatch):
    """A paused controller that was succeeded is welcome, and obeyed, again."""
    real = Fence.refusal

    def refusal(self, *, node, epoch, generation):
        return real(self, node=node, epoch=max(epoch, self.epoch), generation=generation)

    def welcome(self, epoch):
        self._welcomed = True
        self._durable(epoch)()

    monkeypatch.setattr(Fence, "refusal", refusal)
    monkeypatch.setattr(Agent, "_welcome", welcome)
    assert first_words(weights={**WEIGHTS, "two-leaders": 6, "hold-link": 0}).startswith("I3")


def test_i4_an_agent_switches_by_itself(monkeypatch):
    """What was carried out is undone after a moment, whether or not anybody asked for a confirmation."""
    real = Agent._command

    def hasty(self, message):
        real(self, replace(message, revert_after=0.5))

    monkeypatch.setattr(Agent, "_command", hasty)
    assert first_words().startswith("I4")


def test_i5_equal_tables_are_written_again(monkeypatch):
    """Every bundle is switched, whether or not it selects its path already."""
    real = Obedience.apply

    def apply(self, order):
        outcome = yield from real(self, order)
        yield Switch(dict(enumerate(order.table)))
        return outcome

    monkeypatch.setattr(Obedience, "apply", apply)
    assert first_words().startswith("I5")


def test_i5_generations_begin_anew_after_a_restart():
    """Nothing that was reserved is remembered."""

    class Forgetful(Engine):
        def handle(self, event, now):
            if isinstance(event, Restored):
                event = replace(event, generation=0, reserved=0)
            return super().handle(event, now)

    assert first_words(engine=Forgetful).startswith("I5")


@pytest.mark.usefixtures("unchecked")
def test_i6_a_start_tells_every_ring_what_it_has():
    """All that is wanted is commanded when the last agent has dialled in."""

    class Eager(Engine):
        def handle(self, event, now):
            was_open = self.state.open
            effects = super().handle(event, now)
            state = self.state
            if state.open and not was_open:
                state.generation += 1
                for node in state.nodes:
                    if node.ring and node.session and node.in_place:
                        node.generation = node.sent = state.generation
                        node.sent_epoch = state.epoch
                        state.owing.add(node.position)
                        told = SendCircuits(
                            node.session, node.name, state.epoch, state.generation, "start", node.desired
                        )
                        effects.insert(0, told)
                state.reserve_generations()
            return effects

    assert first_words(engine=Eager).startswith(("I6", "I1"))


@pytest.mark.usefixtures("unchecked")
def test_i7_silence_is_failure(monkeypatch):
    """A node whose agent is silent is bypassed, whatever its neighbours see."""
    real = verdicts.judge

    def judge(evidence):
        judgement = real(evidence)
        if evidence.speech is verdicts.Speech.SILENT and evidence.light is NeighbourLight.PRESENT:
            return replace(judgement, verdict=Verdict.FAILED, grounds=frozenset({Ground.SILENCE}))
        return judgement

    monkeypatch.setattr("ringlight.controller.engine.assessment.judge", judge)
    assert first_words().startswith("I7")


def test_rings_that_are_never_planned_again_are_found_out_at_the_end(monkeypatch):
    """What broke stays broken."""
    monkeypatch.setattr(Engine, "_plan", lambda *_args: None)
    assert first_words() != ""


def test_records_that_are_never_written_are_found_out_at_the_end(monkeypatch):
    """A controller that restarts knows nothing of its rings, and does not look at what is lit."""
    real = Engine.handle

    def handle(self, event, now):
        return [effect for effect in real(self, event, now) if not (isinstance(effect, Persist) and effect.rings)]

    monkeypatch.setattr(Engine, "handle", handle)
    monkeypatch.setattr(engine_module, "adopt_what_is_lit", lambda *_: None)
    assert first_words() != ""
