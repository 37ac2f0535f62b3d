import math
from collections.abc import Callable

import pytest

from ringlight.emulator.faults import FaultBook, FaultKind, FaultRequest
from ringlight.fabric.errors import ConflictError, InvalidError, NotFoundError
from ringlight.fabric.wiring import Wiring


@pytest.fixture
def book(make_wiring: Callable[..., Wiring]) -> FaultBook:
    return FaultBook(make_wiring(8, k=2, gpus=4))


@pytest.mark.parametrize(
    ("request_", "component", "number"),
    [
        (FaultRequest(FaultKind.GPU_XID, "n3", gpu=2), "gpu2", 2),
        (FaultRequest(FaultKind.GPU_LOST, "n3", gpu=0), "gpu0", 0),
        (FaultRequest(FaultKind.POWER_OFF, "n3"), "node", 0),
        (FaultRequest(FaultKind.AGENT_CRASH, "n3"), "agent", 0),
        (FaultRequest(FaultKind.AGENT_HANG, "n3"), "agent", 0),
        (FaultRequest(FaultKind.FIBRE_CUT, "n3", distance=2), "n3+2", 2),
        (FaultRequest(FaultKind.MODULE_DEAD, "n3", bundle=1, module=7), "b1.m7", 1),
        (FaultRequest(FaultKind.BUNDLE_STUCK, "n3", bundle=1), "b1", 1),
        (FaultRequest(FaultKind.BUNDLE_SLOW, "n3", bundle=0, delay=0.5), "b0", 0),
    ],
)
def test_every_kind_names_the_part_it_breaks(
    book: FaultBook, request_: FaultRequest, component: str, number: int
) -> None:
    fault = book.open(request_)
    assert (fault.position, fault.component, fault.number) == (3, component, number)
    assert book.has(request_.kind, 3, number)
    assert book.of_node(3) == (fault,)
    assert book.close(fault.id) == fault
    assert not book.has(request_.kind, 3, number)
    assert book.all() == ()


def test_an_xid_fault_without_a_number_is_a_gpu_fallen_off_the_bus(book: FaultBook) -> None:
    assert book.open(FaultRequest(FaultKind.GPU_XID, "n0")).xid == 79
    assert book.open(FaultRequest(FaultKind.GPU_XID, "n0", xid=48)).xid == 48


@pytest.mark.parametrize(
    ("request_", "says", "hint"),
    [
        (FaultRequest(FaultKind.GPU_XID, "n3", gpu=9), "n3 has no GPU 9", "has 4, numbered 0 to 3"),
        (FaultRequest(FaultKind.GPU_XID, "n3", xid=70_000), "70000 is no XID", "1 to 999"),
        (FaultRequest(FaultKind.GPU_LOST, "n3", gpu=4), "n3 has no GPU 4", "0 to 3"),
        (FaultRequest(FaultKind.MODULE_DEAD, "n3", bundle=2), "n3 has no bundle 2", "0 to 1"),
        (FaultRequest(FaultKind.MODULE_DEAD, "n3", bundle=1, module=8), "n3 has no module b1.m8", "0 to 7"),
        (FaultRequest(FaultKind.BUNDLE_STUCK, "n3", bundle=5), "n3 has no bundle 5", "0 to 1"),
        (FaultRequest(FaultKind.BUNDLE_SLOW, "n3", bundle=0), "slow by 0 s", "above 0"),
        (FaultRequest(FaultKind.BUNDLE_SLOW, "n3", bundle=0, delay=math.nan), "slow by nan s", "above 0"),
        (FaultRequest(FaultKind.FIBRE_CUT, "n3", distance=3), "no fibre leads from n3 over distance 3", "1 and 2"),
    ],
)
def test_a_fault_that_does_not_fit_is_refused_and_says_what_fits(
    book: FaultBook, request_: FaultRequest, says: str, hint: str
) -> None:
    with pytest.raises(InvalidError, match=says) as caught:
        book.open(request_)
    assert hint in caught.value.hint
    assert book.all() == ()


def test_a_fibre_past_the_end_of_an_open_order_cannot_be_cut(make_wiring: Callable[..., Wiring]) -> None:
    book = FaultBook(make_wiring(8, closed=False))
    with pytest.raises(InvalidError, match="no fibre leads from n6 over distance 2") as caught:
        book.open(FaultRequest(FaultKind.FIBRE_CUT, "n6", distance=2))
    assert caught.value.hint == "fibres from n6 go over 1"
    with pytest.raises(InvalidError) as caught:
        book.open(FaultRequest(FaultKind.FIBRE_CUT, "n7", distance=1))
    assert caught.value.hint == "no fibre begins at n7"


def test_an_unknown_node_is_answered_with_the_nodes_there_are(book: FaultBook) -> None:
    with pytest.raises(NotFoundError, match="no node 'n99'") as caught:
        book.open(FaultRequest(FaultKind.POWER_OFF, "n99"))
    assert "n0 .. n7" in caught.value.hint


def test_an_id_that_is_open_already_is_a_conflict_until_it_is_repaired(book: FaultBook) -> None:
    book.open(FaultRequest(FaultKind.POWER_OFF, "n1", id="mine"))
    with pytest.raises(ConflictError, match="'mine' is open already: power-off at n1, node"):
        book.open(FaultRequest(FaultKind.POWER_OFF, "n2", id="mine"))
    book.close("mine")
    assert book.open(FaultRequest(FaultKind.POWER_OFF, "n2", id="mine")).position == 2


def test_ids_the_book_chooses_avoid_those_that_are_open(book: FaultBook) -> None:
    book.open(FaultRequest(FaultKind.POWER_OFF, "n1", id="f1"))
    assert book.open(FaultRequest(FaultKind.POWER_OFF, "n2")).id == "f2"


def test_repairing_what_is_not_open_names_what_is(book: FaultBook) -> None:
    with pytest.raises(NotFoundError, match="'f7'") as caught:
        book.close("f7")
    assert caught.value.hint == "no fault is open at all"
    book.open(FaultRequest(FaultKind.POWER_OFF, "n1", id="a"))
    with pytest.raises(NotFoundError) as caught:
        book.close("f7")
    assert caught.value.hint == "open are a"


def test_overlapping_faults_of_one_part_keep_it_broken_until_the_last_is_repaired(book: FaultBook) -> None:
    first = book.open(FaultRequest(FaultKind.GPU_LOST, "n1", gpu=1))
    second = book.open(FaultRequest(FaultKind.GPU_LOST, "n1", gpu=1))
    assert book.at(FaultKind.GPU_LOST, 1, 1) == (first, second)
    book.close(first.id)
    assert book.has(FaultKind.GPU_LOST, 1, 1)
    book.close(second.id)
    assert not book.has(FaultKind.GPU_LOST, 1, 1)
