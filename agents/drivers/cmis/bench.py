"""Reading a module without driving it: whatever can be read, and why the rest cannot.

Nothing is written but page selects, which come with reading. A module that is broken is read as far as it goes: one
page that fails is no reason to leave out the others.
"""

import asyncio
from collections.abc import Iterable, Mapping

from ringlight.agents.drivers.cmis import registers as reg
from ringlight.agents.drivers.cmis.access import ModuleMemory, answered
from ringlight.agents.drivers.cmis.page_view import LOWER, SHOWN, pieces, same_bytes
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, NotAcknowledgedError, Trouble

BOOT_PATIENCE = 3.0  # seconds: a module that was just plugged in needs so long
_PATIENCE = 0.5  # seconds, for everything after its first answer
_NO_ANSWER = "it does not acknowledge this"
_AS_PAGE_00H = "it shows page 00h instead"
_TO_COMPARE = (range(128, 134), range(168, 176))  # with what the other pages of a glimpse show there
# What `glimpse` needs: without any flag, and with all of them.
_GLIMPSED: Mapping[int, tuple[range, ...]] = {
    LOWER: (range(4), range(14, 16)),
    reg.ADMINISTRATIVE: _TO_COMPARE,
    reg.LANE_STATUS: (range(128, 134),),
    reg.OCSTRX: (range(168, 192), range(200, 204)),
}
_GLIMPSED_WITH_FLAGS: Mapping[int, tuple[range, ...]] = {
    LOWER: (range(16),),
    reg.ADMINISTRATIVE: _TO_COMPARE,
    reg.LANE_STATUS: (range(128, 154),),
    reg.OCSTRX: (range(168, 192), range(200, 205)),
}

Known = dict[int, int]
Reading = tuple[dict[int, Known], dict[int, str]]  # pages, and why others could not be read


async def await_answer(memory: ModuleMemory) -> None:
    """Wait until a module answers at all.

    Raises:
        ModuleTroubleError: it does not.
    """
    try:
        await answered(lambda: memory.read(0, 0, 3), BOOT_PATIENCE)
    except NotAcknowledgedError:
        what = "it does not answer" if memory.is_present() else "nothing is plugged in"
        raise ModuleTroubleError(Trouble.DEAD, what) from None


async def read_everything(memory: ModuleMemory, *, flags: bool) -> Reading:
    """Every page that has a meaning here."""
    return await _read({page: tuple(pieces(page, flags=flags)) for page in SHOWN}, memory)


async def read_glimpse(memory: ModuleMemory, *, flags: bool) -> Reading:
    """What `health_view.glimpse` looks at."""
    return await _read(_GLIMPSED_WITH_FLAGS if flags else _GLIMPSED, memory)


async def read_part(memory: ModuleMemory, page: int, wanted: range, *, flags: bool) -> Known:
    """Some bytes of one page.

    Raises:
        ModuleTroubleError: it does not select the page.
        NotAcknowledgedError: it does not acknowledge.
    """
    parts = [range(max(piece.start, wanted.start), min(piece.stop, wanted.stop)) for piece in pieces(page, flags=flags)]
    return await _read_page(memory, page, parts)


async def shows_page_00h(memory: ModuleMemory, known: Known) -> bool:
    """Whether what was read of another page is what page 00h shows at the same bytes.

    Files show page 00h for pages that there are not, and some modules show nothing else.
    """
    if len(set(known.values())) <= 1:
        return False  # too little to tell by
    try:
        parts = [range(min(known), max(known) + 1)]
        return same_bytes(known, await _read_page(memory, reg.ADMINISTRATIVE, parts))
    except (ModuleTroubleError, NotAcknowledgedError):
        return False


async def _read(wanted: Mapping[int, tuple[range, ...]], memory: ModuleMemory) -> Reading:
    pages: dict[int, Known] = {}
    unread: dict[int, str] = {}
    for page, parts in wanted.items():
        try:
            pages[page] = await _read_page(memory, page, parts)
        except ModuleTroubleError as error:
            unread[page] = str(error)
        except NotAcknowledgedError:
            unread[page] = _NO_ANSWER
            if page == LOWER:  # which is always there: so the module does not answer at all
                return {}, {LOWER: "it does not answer"}
    for page in [page for page in pages if page not in (LOWER, reg.ADMINISTRATIVE)]:
        if same_bytes(pages[page], pages.get(reg.ADMINISTRATIVE, {})):
            unread[page] = _AS_PAGE_00H
            del pages[page]
    return pages, unread


async def _read_page(memory: ModuleMemory, page: int, parts: Iterable[range]) -> Known:
    known: Known = {}
    for part in parts:
        if part:
            known.update(zip(part, await _bytes(memory, page, part), strict=True))
    return known


async def _bytes(memory: ModuleMemory, page: int, part: range) -> bytes:
    return await answered(lambda: memory.read(max(page, 0), part.start, len(part)), _PATIENCE)


async def changed_or_after(memory: ModuleMemory, seconds: float) -> None:
    """Wait for the module's interrupt, or for some seconds, whichever is first."""
    try:
        async with asyncio.timeout(seconds):
            await memory.interrupted()
    except TimeoutError:
        pass
