"""What stays is kept out of the garbage collector's sight, once."""

import gc

import pytest

from ringlight.controller.adapters.garbage import KnownToStay
from ringlight.controller.engine.effects import FabricEvent


@pytest.fixture
def thawed():
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_what_is_there_when_everybody_was_heard_is_left_alone_from_then_on():
    known = KnownToStay()
    known.take_event(FabricEvent(1, "gate-shut", "silence", ""))
    assert gc.get_freeze_count() == 0
    known.take_event(FabricEvent(2, "gate-open", "silence", ""))
    frozen = gc.get_freeze_count()
    assert frozen > 0
    later = [[] for _ in range(1000)]
    known.take_event(FabricEvent(3, "gate-open", "silence", ""))
    assert gc.get_freeze_count() <= frozen
    assert later
