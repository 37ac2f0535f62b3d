"""A host that reads and writes raw registers of an emulated module, as a person with a bus adapter would.

It knows the addresses from the public tables and nothing of the model's inside.
"""

from ringlight.emulator.module.module import Module, Nack
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile

LOWER = -1


class Host:
    """Access to one module, with a time of its own."""

    def __init__(self, profile: ModuleProfile | None = None, *, seed: int = 1, scale: float = 1.0) -> None:
        self.now = 100.0
        self.module = Module(
            ModuleIdentity("SN0001"), profile=profile or ModuleProfile(), seed=seed, now=self.now, scale=scale
        )

    def settle(self) -> None:
        """Let everything happen that happens by itself."""
        while (due := self.module.next_event()) is not None:
            self.now = max(self.now, due)
            self.module.advance(self.now)

    def wait(self, seconds: float) -> None:
        """Let time go by."""
        self.now += seconds
        self.module.advance(self.now)

    def select(self, page: int, bank: int = 0) -> None:
        """Select a page, and see that it is."""
        self.module.write(bytes((126, bank, page)), self.now)
        assert self.module.read(2, self.now, 126) == bytes((bank, page))

    def read(self, page: int, byte: int, length: int = 1) -> bytes:
        """Bytes of a page."""
        if page != LOWER:
            self.select(page)
        return self.module.read(length, self.now, byte)

    def byte(self, page: int, byte: int) -> int:
        """One byte of a page."""
        return self.read(page, byte)[0]

    def word(self, page: int, byte: int) -> int:
        """An unsigned number of two bytes."""
        return int.from_bytes(self.read(page, byte, 2), "big")

    def write(self, page: int, byte: int, *content: int) -> None:
        """Bytes into a page."""
        if page != LOWER:
            self.select(page)
        self.module.write(bytes((byte, *content)), self.now)

    def state(self) -> int:
        """ModuleState."""
        return self.byte(LOWER, 3) >> 1 & 0x7

    def data_path_states(self) -> list[int]:
        """DPState of lanes 1 to 8."""
        return [half for each in self.read(0x11, 128, 4) for half in (each & 0xF, each >> 4)]

    def config_status(self) -> list[int]:
        """ConfigStatus of lanes 1 to 8."""
        return [half for each in self.read(0x11, 202, 4) for half in (each & 0xF, each >> 4)]

    def stage(self, *codes: int) -> None:
        """Stage paths on page B0h and enable the switch; one code stands for all lanes."""
        self.write(0xB0, 136, *(codes * 8 if len(codes) == 1 else codes))
        self.write(0xB0, 152, 1)

    def move(self, code: int) -> None:
        """Have all lanes select a path, and wait until that is done."""
        self.stage(code)
        self.write(0xB0, 160, 1)
        self.settle()

    def command(self, number: int, payload: bytes = b"", *, wrong_by: int = 0) -> tuple[int, bytes]:
        """Give a command, wait until it is done; its status, and its reply."""
        self.give(number, payload, wrong_by=wrong_by)
        self.settle()
        length = self.byte(0x9F, 134)
        return self.byte(LOWER, 37), self.read(0x9F, 136, length) if length else b""

    def give(self, number: int, payload: bytes = b"", *, wrong_by: int = 0) -> None:
        """Write a command into the mailbox, its number last."""
        head = number.to_bytes(2, "big") + bytes((0, 0, len(payload)))
        check = (0xFF - (sum(head + payload) & 0xFF) + wrong_by) & 0xFF
        self.write(0x9F, 130, 0, 0, len(payload), check)
        if payload:
            self.write(0x9F, 136, *payload)
        self.write(0x9F, 128, *head[:2])

    def refuses(self) -> bool:
        """Whether nobody answers just now."""
        try:
            self.module.read(1, self.now, 0)
        except Nack:
            return True
        return False
