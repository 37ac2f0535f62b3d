"""What is known of the hardware: readings and news, in any order."""

from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.observation import Observation
from ringlight.agents.ports import FaultClosed, FaultOpened, LightChanged, Readout
from ringlight.fabric.circuits import Fault, FaultClass, Path

PORT = (0, Path.PATH_1)
FAULT = Fault("f1", "gpu0", FaultClass.FATAL, "xid:79")


def readout(*, lit, faults=()):
    return Readout((Path.LOOPBACK,), {PORT: lit}, faults)


def test_a_reading_tells_which_light_differs():
    seen = Observation()
    assert seen.take(readout(lit=True)) == [PORT]
    assert seen.take(readout(lit=True)) == []


def test_news_is_told_once():
    seen = Observation()
    assert [seen.notice(LightChanged(PORT, lit=True)), seen.notice(LightChanged(PORT, lit=True))] == [True, False]
    assert [seen.notice(FaultOpened(FAULT)), seen.notice(FaultOpened(FAULT))] == [True, False]
    assert [seen.notice(FaultClosed("f1")), seen.notice(FaultClosed("f1"))] == [True, False]


def test_a_fault_that_opens_while_faults_are_read_stays():
    seen = Observation()
    seen.begin_reading()
    seen.notice(FaultOpened(FAULT))
    seen.take(readout(lit=False), ())
    assert seen.faults == {"f1": FAULT}


def test_a_fault_that_closes_while_faults_are_read_stays_closed():
    seen = Observation()
    seen.notice(FaultOpened(FAULT))
    seen.begin_reading()
    seen.notice(FaultClosed("f1"))
    seen.take(readout(lit=False), (FAULT,))
    assert seen.faults == {}


def test_a_fault_that_closed_unheard_is_gone_after_a_reading():
    seen = Observation()
    seen.notice(FaultOpened(FAULT))
    seen.begin_reading()
    seen.take(readout(lit=False), ())
    assert seen.faults == {}


def test_a_reading_without_the_gpus_leaves_the_faults():
    seen = Observation()
    seen.notice(FaultOpened(FAULT))
    seen.begin_reading()
    seen.take(readout(lit=False))
    assert seen.faults == {"f1": FAULT}


class Interleaving:
    """Hardware, the news under way from it, and readings that are sampled some time before they are taken."""

    def __init__(self):
        self.seen = Observation()
        self.lit = False
        self.reported = None
        self._news = []
        self._sample = None
        self._begun = False

    def toggle(self):
        self.lit = not self.lit
        self._news.append(self.lit)

    def deliver(self):
        if self._news:
            lit = self._news.pop(0)
            if self.seen.notice(LightChanged(PORT, lit=lit)):
                self.reported = lit

    def begin(self):
        if not self._begun:
            self._begun = True
            self.seen.begin_reading()

    def sample(self):
        if self._begun and self._sample is None:
            self._sample = self.lit

    def take(self):
        if self._sample is not None:
            for port in self.seen.take(readout(lit=self._sample)):
                self.reported = self.seen.light[port]
            self._sample, self._begun = None, False

    def settle(self):
        """Let all news arrive, and a reading that was sampled be taken after it."""
        while self._news:
            self.deliver()
        self.take()


@given(st.lists(st.sampled_from(["toggle", "deliver", "begin", "sample", "take"]), max_size=40))
def test_light_is_never_lost_or_swallowed_in_any_interleaving(steps):
    """Once all news has arrived, what is known and what was reported are what the hardware has."""
    run = Interleaving()
    run.begin()
    run.sample()
    run.take()
    for step in steps:
        getattr(run, step)()
    run.settle()
    assert run.seen.light[PORT] == run.reported == run.lit
