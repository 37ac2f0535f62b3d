"""The parts of an agent's file that say where a node's GPU health comes from. docs/agent.md explains every key."""

from pydantic import BaseModel, ConfigDict


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class NoGpus(_Model):
    """Nobody reports these GPUs."""
