"""All of it together: one fabric, its agents, its controllers, and the operations that come over them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from ringlight.controller.engine.effects import Effect
from ringlight.controller.engine.engine import Engine
from ringlight.controller.engine.events import (
    BeginAudit,
    Cordon,
    DeclareDead,
    Drain,
    EndAudit,
    Event,
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
from ringlight.controller.settings import Settings
from ringlight.emulator.plant import Plant, PlantEvent
from ringlight.fabric.wiring import Wiring
from ringlight.simulator.agent import Agent
from ringlight.simulator.controller import Controller, Failpoint
from ringlight.simulator.faults import fault_request, touched
from ringlight.simulator.judge import Judge
from ringlight.simulator.operations import Operation
from ringlight.simulator.schedule import Schedule
from ringlight.simulator.store import MemoryStore
from ringlight.simulator.stream import AgentEnd, Stream


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated.

    Attributes:
        wiring: of the fabric.
        settings: of its controllers.
        groups: positions by agent.
    """

    wiring: Wiring
    settings: Settings
    groups: tuple[tuple[int, ...], ...]


class Simulation:
    """One run.

    Args:
        plan: what is simulated.
        rng: for everything that is left to chance.
        engine: the engine of its controllers; another one than the real one only to see it found out.
        failpoint: where controllers are to die.
    """

    def __init__(
        self,
        plan: Plan,
        rng: Random,
        *,
        engine: type[Engine] = Engine,
        agent: type[Agent] = Agent,
        failpoint: Failpoint | None = None,
    ) -> None:
        self.plan = plan
        self.wiring = plan.wiring
        self.interval = plan.settings.heartbeat.interval
        self.schedule = Schedule()
        self.plant = Plant(plan.wiring, "boot")
        self.judge = Judge(self.schedule, plan.wiring, self.plant)
        self.store = MemoryStore(plan.settings.store.generation_block)
        self.agents = [
            agent(self, f"agent-{number}", group, Random(rng.random()))  # noqa: S311 - no secret
            for number, group in enumerate(plan.groups)
        ]
        self.controllers: list[Controller] = []
        self._rng = rng
        self._engine = engine
        self._failpoint = failpoint
        self._agent_of = {position: agent for agent in self.agents for position in agent.positions}
        self._sessions = 0
        self._requests = 0
        self._calm = False  # nothing new is begun by those who watch

    # -- processes ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Everything starts, and comes to rest."""
        self.start_controller()
        for agent in self.agents:
            agent.start()
        self.schedule.run(3.0)

    def start_controller(self) -> None:
        """A new controller process over the present store."""
        controller = Controller(
            self.schedule,
            self.wiring,
            self.plan.settings,
            self.store,
            self.plant,
            rng=self._rng,
            observe=self._observe,
            failpoint=self._failpoint,
            engine=self._engine,
        )
        self.controllers.append(controller)
        controller.start()

    @property
    def leader(self) -> Controller | None:
        """The newest controller that is alive."""
        return next((controller for controller in reversed(self.controllers) if controller.alive), None)

    def connect(self, agent: AgentEnd) -> Stream | None:
        """A stream to a controller that takes calls: mostly the newest one."""
        alive = [controller for controller in self.controllers if controller.alive]
        if not alive:
            return None
        old = len(alive) > 1 and self._rng.random() < 0.3  # noqa: PLR2004 - an address that still leads there
        controller = alive[0] if old else alive[-1]
        self._sessions += 1
        stream = Stream(self.schedule, self._rng, f"s{self._sessions}", agent, controller)
        controller.accept(stream)
        return stream

    def answers(self, link: Stream) -> bool:
        """Whether a heartbeat sent now would be answered."""
        return link.controller.answering and not link.up.held and not link.down.held

    def spread(self, events: Iterable[PlantEvent]) -> None:
        """Let agents notice what happened in the hardware."""
        for event in events:
            self._agent_of[event.position].notice(event)

    def _observe(self, controller: Controller, event: Event, effects: list[Effect]) -> None:
        self.judge.step(controller, event, effects)
        tripped = controller.engine.state.tripped is not None
        if tripped and not self._calm:
            # Somebody is called, looks, and lets it go on.
            self._calm = True
            self.schedule.after(self._rng.uniform(2.0, 15.0), self._call_out)

    def _call_out(self) -> None:
        self._calm = False
        self.ask(ResetBreaker(""))

    # -- operations --------------------------------------------------------------------------------------------------

    def perform(self, operation: Operation) -> None:
        """Let time pass until an operation, and let it happen."""
        self.schedule.run(operation.delay)
        getattr(self, "_do_" + operation.kind.replace("-", "_"))(operation)

    def ask(self, request: OperatorRequest) -> None:
        """Somebody asks the controller that is in charge for something."""
        leader = self.leader
        if leader is not None:
            leader.ask(request)

    def _name(self, operation: Operation) -> str:
        return self.wiring.name(operation.node)

    def _agent(self, operation: Operation) -> Agent:
        return self._agent_of[operation.node]

    def _break(self, operation: Operation, fault_id: str) -> None:
        request = fault_request(self.wiring, operation, fault_id)
        self.judge.trouble(touched(self.wiring, request))
        self.spread(self.plant.inject(request)[1])

    def mend(self, fault_id: str) -> None:
        """Repair a fault, if it is open."""
        fault = next((fault for fault in self.plant.faults.all() if fault.id == fault_id), None)
        if fault is None:
            return
        hop = self.wiring.hop(fault.position, fault.number)
        ends = (hop.low.position, hop.high.position) if hop is not None else ()
        self.judge.trouble({fault.position, *ends})
        self.spread(self.plant.repair(fault_id)[1])

    def _do_break(self, operation: Operation) -> None:
        self._break(operation, f"f{operation.index}")

    def _do_repair(self, operation: Operation) -> None:
        faults = self.plant.faults.all()
        if faults:
            self.mend(faults[operation.number % len(faults)].id)

    def _do_flap(self, operation: Operation) -> None:
        for turn in range(3):
            fault_id = f"f{operation.index}.{turn}"
            self._break(operation, fault_id)
            self.schedule.run(operation.seconds / 10)
            self.mend(fault_id)
            self.schedule.run(operation.seconds / 10)

    def _do_crash_agent(self, operation: Operation) -> None:
        agent = self._agent(operation)
        agent.crash()
        self.schedule.after(operation.seconds, agent.start)

    def _do_wipe_agent(self, operation: Operation) -> None:
        agent = self._agent(operation)
        agent.crash(lose_files=True)
        self.schedule.after(operation.seconds, agent.start)

    def _do_tear_link(self, operation: Operation) -> None:
        link = self._agent(operation).link
        if link is not None:
            link.tear(self.schedule, self._rng)

    def _do_hold_link(self, operation: Operation) -> None:
        link = self._agent(operation).link
        if link is not None:
            direction = link.up if operation.number % 2 else link.down
            direction.hold()
            self.schedule.after(operation.seconds, direction.release)

    def _do_double_link(self, operation: Operation) -> None:
        link = self._agent(operation).link
        if link is not None:
            link.up.doubled = link.down.doubled = True

    def _do_slow_link(self, operation: Operation) -> None:
        link = self._agent(operation).link
        if link is not None:
            link.up.delay = link.down.delay = operation.seconds / 10

    def _do_crash_controller(self, operation: Operation) -> None:
        for controller in self.controllers:
            controller.crash()
        self.schedule.after(operation.seconds, self.start_if_none)

    def start_if_none(self) -> None:
        """Somebody, or the service manager, starts a controller again."""
        if self.leader is None:
            self.start_controller()

    def _do_lose_store(self, operation: Operation) -> None:
        self._do_crash_controller(operation)
        self.judge.store_lost()
        self.store.lose()

    def _do_restore_backup(self, operation: Operation) -> None:
        self._do_crash_controller(operation)
        self.judge.store_lost()
        self.store.restore_backup()

    def _do_back_up(self, _operation: Operation) -> None:
        self.store.back_up()

    def _do_stall_controller(self, operation: Operation) -> None:
        leader = self.leader
        if leader is not None:
            leader.stall()
            self.schedule.after(operation.seconds, leader.resume)

    def _do_jump_clock(self, operation: Operation) -> None:
        leader = self.leader
        if leader is not None:
            leader.jump(10.0 * operation.seconds)

    def _do_two_leaders(self, operation: Operation) -> None:
        """One is paused and succeeded, and comes back with what it believed."""
        leader = self.leader
        if leader is not None:
            leader.stall()
            self.schedule.after(0.5, self.start_controller)
            self.schedule.after(0.6 + operation.seconds, leader.resume)

    def _do_fill_disk(self, operation: Operation) -> None:
        self.judge.store_lost()
        self.store.refuses = True
        self.schedule.after(operation.seconds, self._free_disk)

    def _free_disk(self) -> None:
        self.store.refuses = False

    def _do_submit(self, operation: Operation) -> None:
        rings, length = 1 + operation.number % 3, 1 + operation.number // 3 % 6
        least = 1 + operation.number // 18 % rings
        name, tp = f"job{operation.index}", length * self.wiring.spec.gpus
        self.ask(SubmitJob("", name, rings, tp, least, priority=operation.number // 54 % 3))

    def _job(self, operation: Operation) -> str:
        leader = self.leader
        jobs = sorted(leader.engine.state.jobs) if leader is not None else []
        return jobs[operation.number % len(jobs)] if jobs else "none"

    def _do_release(self, operation: Operation) -> None:
        job = self._job(operation)
        self.judge.trouble(self._members(job))
        self.ask(ReleaseJob("", job))

    def _do_resize(self, operation: Operation) -> None:
        job = self._job(operation)
        self.judge.trouble(self._members(job))
        self.ask(ResizeJob("", job, 1 + operation.number % 4))

    def _members(self, job: str) -> list[int]:
        """The nodes of a job, as the controller that is in charge knows it."""
        leader = self.leader
        if leader is None or job not in leader.engine.state.jobs:
            return []
        return [position for ring in leader.engine.state.jobs[job].rings for position in ring.chain]

    def _take_out(self, operation: Operation, maintenance: float) -> None:
        self.judge.trouble([operation.node])
        force = operation.number % 5 == 0
        self.ask(Drain("", (self._name(operation),), force=force, maintenance=maintenance))

    def _do_drain(self, operation: Operation) -> None:
        self._take_out(operation, 0.0)

    def _do_maintain(self, operation: Operation) -> None:
        self._take_out(operation, operation.seconds)

    def _do_cordon(self, operation: Operation) -> None:
        self.ask(Cordon("", (self._name(operation),)))

    def _do_uncordon(self, operation: Operation) -> None:
        leader = self.leader
        laid = [node.name for node in leader.engine.state.nodes if node.overlay] if leader is not None else []
        if laid:
            self.ask(Uncordon("", (laid[operation.number % len(laid)],)))

    def _do_pause(self, _operation: Operation) -> None:
        self.ask(Pause(""))

    def _do_resume(self, _operation: Operation) -> None:
        self.ask(Resume(""))

    def _do_reset_breaker(self, _operation: Operation) -> None:
        self.ask(ResetBreaker(""))

    def _do_release_quarantine(self, _operation: Operation) -> None:
        self.release_quarantine()

    def release_quarantine(self) -> None:
        """Trust every node again."""
        leader = self.leader
        nodes = [node.name for node in leader.engine.state.nodes if node.quarantine] if leader is not None else []
        if nodes:
            self.ask(ReleaseQuarantine("", tuple(nodes)))

    def _do_trust_hops(self, _operation: Operation) -> None:
        self.trust_hops()

    def trust_hops(self) -> None:
        """Trust every fibre again, whether it was repaired or not."""
        leader = self.leader
        state = leader.engine.state if leader is not None else None
        hops = sorted({*state.dead_hops, *state.untested}) if state is not None else []
        if hops:
            self.ask(TrustHops("", tuple(self.plant.wiring.hop_name(hop) for hop in hops)))

    def _do_declare_dead(self, operation: Operation) -> None:
        self.judge.trouble([operation.node])
        self.ask(DeclareDead("", (self._name(operation),)))

    def _do_report_stall(self, operation: Operation) -> None:
        job = self._job(operation)
        self.judge.trouble(self._members(job), lasting=self.plan.settings.health.stall_valid)
        self.ask(ReportStall("", job))

    def _do_audit(self, operation: Operation) -> None:
        self.ask(BeginAudit("", f"audit{operation.index}"))

    def _do_end_audit(self, _operation: Operation) -> None:
        leader = self.leader
        under_way = leader.engine.state.audits.under_way if leader is not None else None
        if leader is not None and under_way is not None:
            leader.ask(EndAudit(under_way.name, "whoever asked for it is gone"))

    def _do_wait(self, operation: Operation) -> None:
        self.schedule.run(operation.seconds)


def groups_of(rng: Random, nodes: int) -> tuple[tuple[int, ...], ...]:
    """Agents of one to eight nodes each, in fabric order."""
    groups: list[Sequence[int]] = []
    first = 0
    while first < nodes:
        size = min(rng.choice((1, 4, 8)), nodes - first)
        groups.append(range(first, first + size))
        first += size
    return tuple(tuple(group) for group in groups)
