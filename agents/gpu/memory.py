"""Which XIDs are open, on disk: an agent that crashes and starts again must not take them for over.

They are forgotten when the machine has booted since, which is an explicit sign; and when somebody removes the file,
which is one too. What cannot be read or written is said in the log, and costs nothing but the memory.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ringlight.agents.gpu.ledger import Ledger

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_log = logging.getLogger(__name__)

Xids = Mapping[int, tuple[int, ...]]
"""Numbers of the XIDs that are open, by GPU."""


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid")
    boot: str
    xids: dict[int, tuple[int, ...]]


def boot_id() -> str:
    """Another one after each boot of this machine; empty where the kernel does not tell."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


class XidMemory:
    """The memory of one node's XIDs.

    Args:
        path: of the file.
        boot: tells which boot of the machine this is.
    """

    def __init__(self, path: Path, boot: Callable[[], str] = boot_id) -> None:
        self._path = path
        self._boot = boot
        self._saved: Xids | None = None
        self._recalled = False

    async def recall(self, ledger: Ledger, now: float) -> None:
        """Have a ledger know what was open when this agent was ended. Once: after that, it knows better."""
        if self._recalled:
            return
        for gpu, xids in (await asyncio.to_thread(self.load)).items():
            for xid in xids:
                ledger.xid(gpu, xid, now)
        self._recalled = True

    async def keep(self, ledger: Ledger) -> None:
        """Write what is open in a ledger, if that is news."""
        xids = ledger.xids()
        if xids != self._saved:
            await asyncio.to_thread(self.save, xids)

    def load(self) -> Xids:
        """What was open when it was saved last, if the machine has not booted since."""
        try:
            content = _Content.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            _log.warning("cannot read which XIDs were open from %s: %s", self._path, error)
            return {}
        boot = self._boot()
        return content.xids if boot and content.boot == boot else {}

    def save(self, xids: Xids) -> None:
        """Write what is open now."""
        new = self._path.with_suffix(".new")
        try:
            new.write_text(json.dumps({"boot": self._boot(), "xids": dict(xids)}), encoding="utf-8")
            new.replace(self._path)
        except OSError as error:
            _log.warning("cannot write which XIDs are open to %s: %s", self._path, error)
        self._saved = xids
