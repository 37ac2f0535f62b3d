"""The states of the small model: three nodes in a line, a ring of two, two controllers, their store.

Everything is an immutable tuple, so that two histories which end alike are one state. A selection and a chain are
both written as the *hop* they use: 0 is loopback or no chain, hop 1 joins nodes 0 and 1, hop 2 joins nodes 1 and 2.
A ring of two nodes needs just one hop, so a chain and its hop are the same number.

What is left out, and why that hides nothing of transaction, fencing and take-over: fibres do not die and silence is
never judged (that is health, and the simulator's business); there is one job, so no ring can be in another's way.
"""

from typing import NamedTuple

NOBODY = -1
UNREAD = -1
NODES = (0, 1, 2)
CONTROLLERS = (0, 1)
MEMBERS: dict[int, tuple[int, ...]] = {0: (), 1: (0, 1), 2: (1, 2)}
GENERATION = 5  # of the ring, in the beginning
BLOCK = 20  # generations a start reserves: more than any controller of the model uses


class Message(NamedTuple):
    """From a controller to an agent: a command (`SetCircuits`), or the confirmation of one (`hop` is UNREAD)."""

    epoch: int
    generation: int
    hop: int
    planned: bool = False

    @property
    def is_command(self) -> bool:
        return self.hop != UNREAD


class Answer(NamedTuple):
    """From an agent to a controller (`Applied`): what became of a command, and what the hardware reads."""

    epoch: int
    generation: int
    code: str  # applied, refused, reverted
    hop: int
    highest_epoch: int


class Agent(NamedTuple):
    """One agent and its node's hardware (`agents.executor.Executor`, `agents.state_file.FenceFile`).

    `epoch` is durable. `generation` is what is noted, `kept` what is on disk of it at least: a crash leaves either.
    `inbox` is the stream of the session, and what the agent took from it but did not begin (`ServedNode._command`).
    `undo` is where an unconfirmed change goes back to. `heard`, `did` are for the checks only: the highest epoch it
    ever saw, and epoch and generation of the last command it carried out; no crash takes them.
    """

    session: int
    hop: int
    epoch: int
    generation: int
    kept: int
    heard: int
    did: tuple[int, int]
    inbox: tuple[Message, ...] = ()
    undo: int = UNREAD
    undo_of: int = 0


class View(NamedTuple):
    """What a controller remembers of a node (`engine.state.NodeRecord`), and the answers it has not read yet.

    `owed` is 0 when the agent answered for what is wanted, 1 when it was never told, 2 when it was. `seen` is UNREAD
    until its agent said hello in this term. `told` is the epoch of the command that an
    answer is awaited for, `awaits` the generation that waits for a confirmation.
    """

    session: bool = False
    seen: int = UNREAD
    generation: int = 0
    owed: int = 1
    told: int = 0
    unanswered: bool = False
    failed: bool = False
    lit: int = 0
    foreign: bool = False
    awaits: int = 0
    mail: tuple[Answer, ...] = ()

    @property
    def is_being_undone(self) -> bool:
        """`NodeRecord.is_being_undone`."""
        return self.foreign and self.awaits > 0


UNKNOWN_VIEW = View()


class Record(NamedTuple):
    """What the store keeps of the ring: `StoredRing` and the overlay of node 0."""

    chain: int
    active: bool
    generation: int
    drain: str = ""  # draining, cordoned


class Controller(NamedTuple):
    """One controller (`engine.state.State`): a process that runs, is down, or was deposed.

    A controller that is paused is one that takes no step for a while: nothing here has to say so.
    """

    status: str = "down"  # down, up, deposed
    born: int = 0  # number of its start, for the order among the two
    epoch: int = 0
    base: int = 0  # the generation it was restored with
    generation: int = 0
    open: bool = False
    commanded: bool = False
    ring: str = "BROKEN"
    chain: int = 0
    ring_generation: int = 0
    established: bool = False
    planned: bool = False
    drain: str = ""
    views: tuple[View, ...] = (UNKNOWN_VIEW,) * 3

    @property
    def record(self) -> Record:
        return Record(self.chain, self.ring == "ACTIVE", self.ring_generation, self.drain)

    def wanted(self, node: int) -> int:
        """The wanted table of a node: its ring's, or loopback."""
        return self.chain if node in MEMBERS[self.chain] else 0

    def in_place(self, node: int) -> bool:
        view = self.views[node]
        return view.seen == self.wanted(node) and not view.owed

    def seeing(self, node: int, view: View) -> "Controller":
        """The same controller with another view of a node."""
        views = self.views
        return self._replace(views=(*views[:node], view, *views[node + 1 :]))


FORGOTTEN = Controller(status="deposed")  # it has no part in anything any more


class Store(NamedTuple):
    """What is on disk. Records follow commands, so a crash may lose the last ones: any of `records` may be it.

    One controller writes, the last that was started (`owner`): an exclusive lock, or a lease that fences writes.
    """

    epochs: tuple[int, ...]
    owner: int
    reserved: int
    records: tuple[Record, ...]


class Budget(NamedTuple):
    """How often each bad thing may still happen."""

    overlaps: int = 0  # starts while another controller still runs: it is paused, or does not know
    crashes: int = 0  # of controllers and agents together
    cuts: int = 0  # sessions with the present controller that break
    strays: int = 0  # agents that dial the former controller
    timeouts: int = 0  # waits for an answer that are given up although it is on its way
    graces: int = 0  # starts that do not wait for every agent
    faults: int = 0
    recoveries: int = 0
    drains: int = 0
    reverts: int = 0


class World(NamedTuple):
    """Everything."""

    store: Store
    controllers: tuple[Controller, Controller]
    agents: tuple[Agent, Agent, Agent]
    left: Budget
    fault: bool = False
    quiet: bool = True  # nothing has happened yet that asks for a change

    def with_agent(self, node: int, agent: Agent) -> "World":
        agents = list(self.agents)
        agents[node] = agent
        return self._replace(agents=tuple(agents))

    def with_controller(self, which: int, controller: Controller) -> "World":
        pair = (controller, self.controllers[1]) if which == 0 else (self.controllers[0], controller)
        return self._replace(controllers=pair)

    def lit(self, node: int) -> int:
        """The hop on which a node sees light: one that both its ends select; 0 for none."""
        hop = self.agents[node].hop
        return hop if hop and all(self.agents[member].hop == hop for member in MEMBERS[hop]) else 0

    def spending(self, what: str) -> "World":
        left = self.left
        return self._replace(left=left._replace(**{what: getattr(left, what) - 1}))

    def newest(self) -> int:
        """The controller that was started last among those that run, or NOBODY."""
        first, second = self.controllers
        if second.status == "up" and (first.status != "up" or second.born > first.born):
            return 1
        return 0 if first.status == "up" else NOBODY


def first_world(budget: Budget, *, old_store: bool = False) -> World:
    """A ring over nodes 0 and 1 is lit and proven; controller 0 leads in its first term, the other is not started.

    With an old store, whoever starts next reads a copy from before that term: it knows the ring, but no epoch.
    """
    view = View(session=True, seen=1, generation=GENERATION, owed=0, told=1, lit=1)
    idle = View(session=True, seen=0, owed=0)
    leader = Controller(
        status="up", born=1, epoch=1, generation=GENERATION, open=True, commanded=True, ring="ACTIVE", chain=1,
        ring_generation=GENERATION, established=True, views=(view, view, idle),
    )  # fmt: skip
    member = Agent(session=0, hop=1, epoch=1, generation=GENERATION, kept=0, heard=1, did=(1, GENERATION))
    spare = Agent(session=0, hop=0, epoch=1, generation=0, kept=0, heard=1, did=(1, 0))
    store = Store((0,), 0, 0, (leader.record,)) if old_store else Store((1,), 1, BLOCK, (leader.record,))
    return World(store, (leader, Controller()), (member, member, spare), budget)
