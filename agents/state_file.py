"""The fence on disk: one small JSON file an agent, replaced as a whole.

A higher epoch is durable before it is obeyed; that happens once in a controller's term. Generations are written when
there is time: within a term one controller numbers all commands over one ordered stream, so what a crash may lose is
never needed to tell an old command from a new one, and no disk is on the path from fault to light. (A controller
that starts anew has a higher epoch, and it reserves its generations in blocks, so it never reuses one.)

What is on disk only grows: there is one write at a time, each of everything seen so far, and one that has begun is
finished even when whoever asked for it is cancelled.
"""

import asyncio
import json
import os
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ringlight.agents.fencing import Fence
from ringlight.fabric.errors import InvalidError, UnavailableError

_UNWRITABLE = "an agent must be able to remember whom it obeyed: free some space, check owner and mode"
AGENT_ID_FORM = "up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit"
AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    epoch: int = Field(ge=0)
    generations: dict[str, int]


class FenceFile:
    """Keeps the fence of one agent. Only its owner changes it, and only upwards."""

    def __init__(self, directory: Path, agent: str) -> None:
        if not AGENT_ID.fullmatch(agent):
            raise InvalidError(
                f"{agent!r} is not an agent id",
                hint=f"use {AGENT_ID_FORM}",
            )
        self._path = directory / f"agent-{agent}.json"
        self._lock = asyncio.Lock()
        self._saved = Fence()
        self.fence = Fence()

    def load(self) -> None:
        """Read the file; an agent that has none has seen nothing.

        Raises:
            InvalidError: it is not what we wrote.
            UnavailableError: it cannot be read, or its directory cannot be written to.
        """
        self._require_directory()
        try:
            content = _Content.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return
        except OSError as error:
            raise UnavailableError(
                f"cannot read {self._path}: {error.strerror}", hint="check its owner and mode"
            ) from error
        except ValidationError as error:
            raise InvalidError(
                f"{self._path} is damaged: it must hold the highest controller epoch this agent obeyed",
                hint="restore it, or remove it if no other controller can still be running",
            ) from error
        self.fence = self._saved = Fence(content.epoch, content.generations)

    def _require_directory(self) -> None:
        """An agent that could never remember an epoch is told so when it starts, not when it is needed."""
        directory = self._path.parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnavailableError(f"cannot make {directory}: {error.strerror}", hint=_UNWRITABLE) from error
        if not os.access(directory, os.W_OK | os.X_OK):
            raise UnavailableError(f"cannot write to {directory}", hint=_UNWRITABLE)

    async def see(self, epoch: int) -> None:
        """Raise the epoch: lower ones are refused from now on, and it is durable when this returns.

        Raises:
            UnavailableError: it cannot be written, and must not be obeyed.
        """
        self.fence = self.fence.saw(epoch)
        async with self._lock:
            if epoch > self._saved.epoch:
                await self._write(self.fence)

    def note_applied(self, node: str, generation: int) -> None:
        """Remember that a generation was applied; `save` makes it durable."""
        self.fence = self.fence.applied(node, generation)

    async def save(self) -> None:
        """Write what is not written yet.

        Raises:
            UnavailableError: it cannot be written.
        """
        async with self._lock:
            if self.fence != self._saved:
                await self._write(self.fence)

    async def _write(self, fence: Fence) -> None:
        """Write a fence, to its end even when cancelled: a thread cannot be stopped, and no other may run beside it."""
        writing = asyncio.create_task(asyncio.to_thread(self._replace, fence), name=f"write {self._path}")
        try:
            await asyncio.shield(writing)
        except OSError as error:
            raise UnavailableError(f"cannot write {self._path}: {error.strerror}", hint=_UNWRITABLE) from error
        finally:
            await asyncio.wait({writing})
            if writing.exception() is None:
                self._saved = fence
                self.fence = self.fence.saw(fence.epoch)

    def _replace(self, fence: Fence) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        with new.open("w", encoding="utf-8") as file:
            json.dump({"epoch": fence.epoch, "generations": dict(fence.generations)}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        directory = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
