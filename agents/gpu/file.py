"""The parts of an agent's file that say where a node's GPU health comes from. docs/agent.md explains every key."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_Seconds = Annotated[float, Field(ge=0.1, le=3_600, strict=False)]
_PCI = r"^([0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class NoGpus(_Model):
    """Nobody reports these GPUs."""


class NvmlGpus(_Model):
    """The node's GPUs are in this machine, and NVIDIA's library tells of them."""

    devices: list[Annotated[str, Field(pattern=_PCI)]] = []
    """PCI addresses of the node's GPUs in order; without them, it has all GPUs of the machine."""

    every: _Seconds = 2.0
    """Seconds between looks at the GPUs. What they report by themselves is heard at once."""

    answer_within: _Seconds = 3.0
    """Seconds until a call that has not returned counts as hanging."""

    settled_after: _Seconds = 10.0
    """Seconds for which the driver must say that nothing needs to be done about a GPU; then what that reported is
    over."""


class CommandGpus(_Model):
    """A command of the site's own tells of the node's GPUs."""

    run: Annotated[list[str], Field(min_length=1)]
    """The command and its arguments; no shell reads them."""

    every: _Seconds = 10.0
    """Seconds between the end of a run and the next."""

    answer_within: _Seconds = 4.0
    """Seconds until a run that has not ended is killed; must be less than `settings.open_timeout`."""


class DcgmGpus(_Model):
    """The metrics page of a DCGM exporter tells of the node's GPUs."""

    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    """Of the page, such as ``http://127.0.0.1:9400/metrics``."""

    devices: list[Annotated[int, Field(ge=0)]] = []
    """Numbers that the exporter gives the node's GPUs, in order; without them, 0 and on."""

    every: _Seconds = 5.0
    """Seconds between looks at the page."""

    answer_within: _Seconds = 3.0
    """Seconds the exporter may take to answer."""

    settled_after: _Seconds = 30.0
    """Seconds for which the driver must say that nothing needs to be done about a GPU; then what that reported is
    over. The exporter's own numbers are up to half a minute old."""
