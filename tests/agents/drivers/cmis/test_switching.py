"""What a switch says of itself, by the bytes of its page."""

import struct

from ringlight.agents.drivers.cmis.switching import OCSTRX_B0, PagedSwitch
from ringlight.fabric.circuits import Path

_NOTHING = 0x7FFF


class Page:
    """Page B0h of a module, and nothing else."""

    def __init__(self, *losses: int) -> None:
        self._bytes = bytearray(128)
        self._bytes[168 - 128 : 176 - 128] = bytes([1] * 8)  # results: success
        self._bytes[208 - 128 : 216 - 128] = struct.pack(">4h", _NOTHING, *losses)

    async def read(self, page: int, byte: int, length: int) -> bytes:
        assert page == 0xB0
        return bytes(self._bytes[byte - 128 : byte - 128 + length])


async def test_a_loss_that_is_not_told_is_none() -> None:
    switch = PagedSwitch(Page(342, _NOTHING, 396), OCSTRX_B0)  # type: ignore[arg-type]
    assert (await switch.state()).losses == {Path.PATH_1: 3.42, Path.LOOPBACK: 3.96}
