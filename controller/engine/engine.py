"""The order of it all: one event in, its consequences worked out, the effects out.

For every event: take it in; judge the nodes it touches; look at the rings that stand on them; plan once for every
job that lost something or may now get something back; check the invariants; and only then let commands out. Commands
go first, records and events follow: the path from fault to light waits for no disk.

Until every agent was heard, or the grace period after a start is over, nothing is concluded from who is missing: only
a node that FAILED sets off a plan, and only one that restores its ring with nodes that have spoken and moves no other.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

from ringlight.controller.engine.adoption import adopt_what_is_lit
from ringlight.controller.engine.assessment import (
    assess_hops,
    assess_node,
    breakage,
    damage,
    is_usable,
    note_light,
    note_speech,
    retest_hop,
)
from ringlight.controller.engine.audit import (
    close_numbers,
    end_audit,
    follow_audit,
    go_ahead,
    take_look,
    withheld,
)
from ringlight.controller.engine.doubt import doubt_oneself, keep_pulse, note_time
from ringlight.controller.engine.drain import without_drains
from ringlight.controller.engine.effects import (
    Admit,
    Answer,
    Close,
    Effect,
    Persist,
    Probe,
    Publish,
    Refuse,
    SendCircuits,
    SendConfirm,
    SendQuestion,
    TellAudit,
    WakeAt,
)
from ringlight.controller.engine.events import (
    AgentHello,
    Applied,
    BusBack,
    BusLost,
    EndAudit,
    Event,
    FaultCleared,
    FaultReported,
    GoAhead,
    Heartbeat,
    LightReported,
    Measured,
    NodeBeat,
    ProbeAnswered,
    Restored,
    SessionLost,
    StoreBegunAnew,
    StoreTaken,
    Tick,
)
from ringlight.controller.engine.faults import close_fault, open_fault, rule_again
from ringlight.controller.engine.hold import depose, why_held
from ringlight.controller.engine.invariants import Footing, check
from ringlight.controller.engine.overlays import end_maintenance
from ringlight.controller.engine.progress import advance, close_findings, give_up_on, take_answer, time_out
from ringlight.controller.engine.proposals import offer, pause, plan_job, put_back, take_up
from ringlight.controller.engine.records import tell_begun_anew
from ringlight.controller.engine.repair import Change, apply_plan
from ringlight.controller.engine.requests import carry_out
from ringlight.controller.engine.restore import restore
from ringlight.controller.engine.sessions import hear, lose, park, welcome
from ringlight.controller.engine.state import JobRecord, NodeRecord, RingState, State, stored_ring
from ringlight.controller.engine.witnesses import take_probe
from ringlight.controller.health.verdicts import Verdict
from ringlight.controller.settings import Settings
from ringlight.fabric.circuits import digest, table_of
from ringlight.fabric.wiring import Wiring

# Sessions are opened before they are written to; commands leave before anything else; answers come after the records
# they promise.
_ORDER: dict[type[Effect], int] = {
    Close: 0,
    Refuse: 0,
    Admit: 1,
    SendCircuits: 2,
    SendConfirm: 3,
    SendQuestion: 4,
    Persist: 5,
    Publish: 6,
    Answer: 7,
    TellAudit: 8,
    Probe: 9,
    WakeAt: 10,
}


class Engine:
    """The state machine of one fabric."""

    def __init__(self, wiring: Wiring, settings: Settings) -> None:
        self.state = State(wiring, settings)
        self._wake: float | None = None
        self._settled = True

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Take an event in and return what follows from it.

        Args:
            event: what happened.
            now: seconds of a monotonic clock; never less than before.

        Returns:
            Effects in the order in which they are to be carried out.
        """
        state = self.state
        now = note_time(state, now)
        change = Change(state.generation + 1)
        self._take(event, change, now)
        change.planned = False  # whatever else is due in this step is a repair
        for kind, name in list(state.agenda.due(now)):
            self._take_topic(kind, name, change, now)
        self._open_up(now)
        touched = self._judge_nodes(now)
        if state.open and state.strange_light:
            adopt_what_is_lit(state, now)
        self._plan(self._look_at_rings(now), change, now)
        self._look_at_rings(now)  # a ring that was just laid may be in place already
        follow_audit(state, touched, change, now)
        self._let_out(event, change, now)
        close_numbers(state)
        self._tell_when_settled()
        if state.agenda.next != self._wake:
            self._wake = state.agenda.next
            state.emit(WakeAt(self._wake))
        effects, state.effects = state.effects, []
        return sorted(effects, key=lambda effect: _ORDER[type(effect)])

    def _tell_when_settled(self) -> None:
        """One event when the last change has come to rest: whoever waits for that need not ask again and again."""
        settled = self.state.settled
        if settled and not self._settled:
            self.state.tell("settled", self.state.wiring.spec.name, f"at rest in generation {self.state.generation}")
        self._settled = settled

    def _take(self, event: Event, change: Change, now: float) -> None:  # noqa: C901, PLR0912 - one case an event
        state = self.state
        match event:
            case Restored():
                restore(state, event, now)
            case StoreBegunAnew():
                tell_begun_anew(state, event)
            case StoreTaken():
                depose(state, event.reason)
            case BusLost():
                state.bus_lost = event.reason
            case BusBack():
                state.bus_lost = ""
            case AgentHello():
                welcome(state, event, change, now)
            case SessionLost():
                lose(state, event.session, event.reason)
            case Heartbeat():
                for beat in event.nodes:
                    if node := self._speaker(event.session, beat.node, now):
                        self._compare(node, beat, now)
            case GoAhead():
                go_ahead(state, event.audit, change, now)
            case EndAudit():
                end_audit(state, event.audit, event.reason, change, now)
            case FaultReported() | FaultCleared() | LightReported() | Applied() | Measured():
                if node := self._speaker(event.session, event.node, now):
                    state.dirty_nodes.add(node.position)
                    self._take_report(node, event, now)
            case ProbeAnswered():
                take_probe(state, event)
            case Tick():
                pass
            case _:
                carry_out(state, event, change, now)

    def _take_report(
        self, node: NodeRecord, event: FaultReported | FaultCleared | LightReported | Applied | Measured, now: float
    ) -> None:
        """What an agent says about one node."""
        match event:
            case FaultReported():
                open_fault(self.state, node, event.fault, now)
            case FaultCleared():
                close_fault(self.state, node, event.fault_id, now)
            case LightReported():
                note_light(self.state, node, event.changed, now)
            case Applied():
                take_answer(self.state, node, event, now)
            case Measured():
                take_look(self.state, node, event, now)

    def _speaker(self, session: str, name: str, now: float) -> NodeRecord | None:
        """The node a message is about, marked as heard; None when the session has ended or does not serve it."""
        if not self.state.wiring.has_node(name):
            return None
        node = self.state.node(name)
        if node.session != session:
            return None
        hear(self.state, node, now)
        return node

    def _compare(self, node: NodeRecord, beat: NodeBeat, now: float) -> None:
        """A digest that differs from the wanted table, in answer to no command of ours, is drift; told once."""
        state = self.state
        if node.answered < node.generation:
            return
        to_be_parked = not node.ring and node.observed != node.desired
        waits = to_be_parked or node.is_being_undone  # it is, or comes, back anyhow
        if beat.digest == digest(node.desired):
            node.drift = 0
            if node.findings:
                close_findings(state, node, now)
                state.dirty_nodes.add(node.position)
        elif not waits and beat.applied_generation >= node.generation and beat.digest != node.drift:
            node.drift = beat.digest
            repair = state.settings.change.drift == "repair"
            what_next = "brought back" if repair else "left so, by the drift policy, while its light is on"
            text = f"selects something else than is wanted of it, and no command said so; {what_next}"
            state.tell("drift", node.name, text)
            if repair:
                node.observed = table_of(beat.digest, state.wiring.bundles)
                state.dirty_nodes.add(node.position)
                state.agenda.put(("park", node.name), now)  # if it is idle

    def _take_topic(self, kind: str, name: str, change: Change, now: float) -> None:
        """Look again at something that was waited for."""
        state = self.state
        match kind:
            case "node":
                state.dirty_nodes.add(state.wiring.position(name))
            case "ring" if name in state.rings:
                ring = state.rings[name]
                time_out(state, ring, now)
                if ring.deadline is not None:
                    state.agenda.put(("ring", name), ring.deadline)
                state.dirty_rings.add(name)
            case "job" if name in state.jobs:
                state.dirty_rings.update(ring.name for ring in state.jobs[name].rings)
                state.capacity_grew = True  # whatever was put off is looked at again
            case "hop":
                retest_hop(state, name)
            case "park":
                self._park_again(state.node(name), change, now)
            case "maintenance":
                end_maintenance(state, state.node(name), now)
            case "fault":
                rule_again(state, state.node(name), now)
            case "pulse":
                keep_pulse(state, now)

    def _park_again(self, node: NodeRecord, change: Change, now: float) -> None:
        """Try once more to bring an idle node to loopback, an interval after it was last told."""
        if node.position in self.state.audits.members:
            return  # the audit sees to it, and to its way back
        due = node.commanded_at + self.state.settings.change.retry_interval
        if not self.state.open:
            due = now + self.state.settings.change.retry_interval
        if now < due:
            self.state.agenda.put(("park", node.name), due)
            return
        if node.position in self.state.owing:
            give_up_on(self.state, node, now)
        park(self.state, node, change, now)

    def _judge_nodes(self, now: float) -> set[int]:
        """Judge the nodes of which anything was heard; their positions."""
        state = self.state
        touched = set(state.dirty_nodes)
        for position in state.dirty_nodes:
            note_speech(state, state.nodes[position], now)
        doubt_oneself(state, now)
        for position in sorted(state.dirty_nodes):
            node = state.nodes[position]
            assess_node(state, node, now)
            was_usable, node.usable = node.usable, is_usable(state, node, now)
            offer(state, node, now)
            state.capacity_grew |= node.usable and not was_usable
            if node.ring:
                state.dirty_rings.add(node.ring)
        state.dirty_nodes.clear()
        return touched

    def _open_up(self, now: float) -> None:
        """From the moment every agent was heard, or the grace period is over, absence may be reasoned about."""
        state = self.state
        if state.open:
            return
        grace_over = now >= state.started_at + state.settings.health.start_grace
        if grace_over or all(node.adopted for node in state.nodes):
            state.open = True
            state.capacity_grew = True
            state.strange_light = True
            state.dirty_rings.update(state.rings)

    def _look_at_rings(self, now: float) -> set[str]:
        """Take every touched ring as far as the evidence goes; the jobs of those that cannot stay as they are."""
        state = self.state
        damaged_jobs = set()
        for name in sorted(state.dirty_rings & state.rings.keys()):
            ring = state.rings[name]
            assess_hops(state, ring, now)
            if damage(state, ring):
                state.damaged.add(name)
                damaged_jobs.add(ring.job)
            else:
                state.damaged.discard(name)
                advance(state, ring, now)
                self._note_settled(state.jobs[ring.job])
        state.dirty_rings.clear()
        return damaged_jobs

    def _note_settled(self, job: JobRecord) -> None:
        if not job.settled_once:
            job.settled_once = all(ring.state in (RingState.ACTIVE, RingState.BROKEN) for ring in job.rings)

    def _plan(self, damaged_jobs: set[str], change: Change, now: float) -> None:
        """One plan for everything that is due: what is broken dissolves, then jobs are planned by priority."""
        state = self.state
        if why_held(state):
            self._leave_broken(sorted(state.damaged), why_held(state))
            return
        if state.capacity_grew:
            damaged_jobs = damaged_jobs | (state.postponed & state.jobs.keys())
        elif not damaged_jobs:
            return
        due = [job for job in self._jobs_to_plan(damaged_jobs) if self._may_plan(job, now)]
        if state.open:
            for job in due:
                take_up(state, job)
        for job in due:
            self._plan_job(job, change, now, damaged=job.name in damaged_jobs)
        state.capacity_grew = any(not ring.chain for ring in change.rings)  # what one ring gave up another may want

    def _leave_broken(self, names: Iterable[str], why: str) -> None:
        """What is damaged stays where it lies for now, and is not called ACTIVE any more."""
        state = self.state
        for name in names:
            ring = state.rings[name]
            broken = breakage(state, ring)
            if broken and ring.chain and ring.state is not RingState.BROKEN:
                state.enter(ring, RingState.BROKEN)
                ring.deadline = None
                ring.blame(broken)
                state.tell("ring-broken", name, f"{ring.cause}; left so: {why}", reason=ring.reason)

    def _jobs_to_plan(self, damaged_jobs: set[str]) -> list[JobRecord]:
        """Jobs that lost something or may get something back, by priority; the others wait for more to dial in."""
        state = self.state
        jobs = []
        for job in sorted(state.jobs.values(), key=lambda job: job.precedence):
            damaged = job.name in damaged_jobs
            hopeful = state.open and state.capacity_grew and any(not ring.chain for ring in job.rings)
            if damaged and not state.open and not self._knows_enough(job):
                state.postponed.add(job.name)
                names = [ring.name for ring in job.rings if ring.name in state.damaged]
                self._leave_broken(names, "agents are still dialling in")
            elif damaged or hopeful:
                jobs.append(job)
        return jobs

    def _may_plan(self, job: JobRecord, now: float) -> bool:
        """Whether the last plan of a job is long enough ago; it is put on the agenda otherwise."""
        if now < job.plan_again_at:
            self.state.agenda.put(("job", job.name), job.plan_again_at)
        return now >= job.plan_again_at

    def _plan_job(self, job: JobRecord, change: Change, now: float, *, damaged: bool) -> None:
        """Plan one job, and make the plan what is wanted."""
        state = self.state
        if not state.open:
            take_up(state, job)  # one job at a time: what is put back must find its place free
        # What is lost has priority over an audit; what is only wished for waits until that is over.
        with (
            nullcontext()
            if damaged or any(not ring.chain and ring.generation for ring in job.rings)
            else withheld(state, now)
        ):
            plan = plan_job(state, job, now)
        pause(state, job, plan, now)
        if plan.rings < job.rings_laid:
            if not state.open:
                put_back(state, job, now)
                state.postponed.add(job.name)
                return
            plan = without_drains(state, job, plan, now)
        state.postponed.discard(job.name)
        if damaged or plan.placed:
            apply_plan(state, job, plan, change, now)

    def _knows_enough(self, job: JobRecord) -> bool:
        """Whether a job may be healed while agents still dial in: a node of it FAILED, and the others are in place.

        If they are not, the ring may be elsewhere by now: see `adoption`.
        """
        state = self.state
        nodes = [node for ring in job.rings if damage(state, ring) for node in state.chain_nodes(ring)]
        failed = [node for node in nodes if node.verdict is Verdict.FAILED]
        return bool(failed) and all(node.in_place or node in failed for node in nodes)

    def _dated(self, command: SendCircuits, change: Change) -> SendCircuits:
        """A command with the term it belongs to, and with time to confirm that suits the size of the change."""
        revert_after = command.revert_after
        if revert_after:
            revert_after += 2 * self.state.settings.change.told_node * len(change.commands)
        return replace(command, epoch=self.state.epoch, revert_after=revert_after)

    def _set_deadlines(self, change: Change, now: float) -> None:
        """From now on, agents have so long to answer; longer, the more of them were told."""
        settings = self.state.settings.change
        for ring in change.rings:
            ring.allowance = settings.told_node * len(change.commands)
            if ring.state is RingState.SWITCHING:
                ring.deadline = now + settings.apply_timeout + ring.allowance
                self.state.agenda.put(("ring", ring.name), ring.deadline)

    def _let_out(self, event: Event, change: Change, now: float) -> None:
        """Number the change, check the invariants, and send what passes."""
        state = self.state
        if not change.rings and not change.commands:
            return
        state.generation = change.generation
        state.reserve_generations()
        self._set_deadlines(change, now)
        records = tuple(stored_ring(state.wiring, ring) for ring in change.rings)
        state.emit(Persist(rings=records, generation=state.generation))
        commands = {command.node: self._dated(command, change) for command in change.commands}
        footing = Footing(
            changed_rings=frozenset(ring.name for ring in change.rings),
            starting=isinstance(event, Restored) or (isinstance(event, AgentHello) and not state.open),
            evidence=bool(change.rings),
        )
        for violation in check(state, list(commands.values()), footing):
            state.violations += 1
            if commands.pop(violation.node, None) is not None:
                state.owing.discard(state.wiring.position(violation.node))
            text = f"{violation.invariant}: {violation.text}; refused"
            state.tell("invariant-violation", violation.node, text, invariant=violation.invariant)
        for name, command in sorted(commands.items()):
            state.has_commanded = True
            node = state.node(name)
            node.sent, node.sent_epoch = command.generation, command.epoch
            state.emit(command)
