"""The part of an agent's file that is about modules: its form, not whether it fits the fabric (`backend`).

docs/ocstrx.md explains every key.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_HIGHEST_SELECT = 255
_FilePath = Annotated[Path, Field(strict=False)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class ModuleAddress(_Model):
    """Where one module is."""

    eeprom: _FilePath | None = None
    """A file of the kernel's optoe driver."""

    i2c: _FilePath | None = None
    """An adapter, `/dev/i2c-N`, with this module alone on it."""

    socket: _FilePath | None = None
    """The emulator's socket of module buses; with `bus` and `select`."""

    bus: str = ""
    """Name of the node whose bus it is."""

    select: Annotated[int, Field(ge=0, le=_HIGHEST_SELECT)] | None = None
    """Select line of the module."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(each is not None for each in (self.eeprom, self.i2c, self.socket)) != 1:
            raise ValueError("a module is at exactly one of eeprom, i2c and socket")
        if (self.socket is None) != (not self.bus) or (self.socket is None) != (self.select is None):
            raise ValueError("bus and select go with socket, and socket with them")
        return self


class Part(_Model):
    """Modules of the site's own that may be written to, by patterns with `*` and `?`."""

    vendor: str
    """As page 00h has it."""

    part_number: str
    """As page 00h has it."""


class CmisNode(_Model):
    """How a node is driven through its modules."""

    profile: Literal["auto", "ocstrx-b0", "cmis-6d", "cdb-8000"] = "auto"
    """How their switches are moved; `auto` goes by what each module offers, its own page first."""

    bundles: Annotated[list[Annotated[list[ModuleAddress], Field(min_length=1)]], Field(min_length=1)]
    """The modules of each bundle, in the order of the fabric's bundles."""

    parts: list[Part] = []
    """Modules that may be written to, beside those that are known."""

    poll: Annotated[float, Field(ge=0.01, le=60, strict=False)] = 1.0
    """Seconds between looks at a module that does not ask for one. Files and adapters show no interrupt: there, light
    that goes is noticed so late."""

    telemetry: Annotated[float, Field(ge=0.1, le=600, strict=False)] = 5.0
    """Seconds between measurements, and between looks for modules that were replaced."""
