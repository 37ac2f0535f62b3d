"""The part of an agent's file that is about modules: its form, not whether it fits the fabric (`backend`).

docs/ocstrx.md explains every key.
"""

from pathlib import Path as FilePath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_HIGHEST_SELECT = 255


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModuleAddress(_Model):
    """Where one module is: exactly one of ``eeprom``, ``i2c`` and ``socket``.

    Attributes:
        eeprom: a file of the kernel's optoe driver.
        i2c: an adapter, ``/dev/i2c-N``, with this module alone on it.
        socket: the emulator's module socket; with ``bus``, the name of the node, and ``select``.
    """

    eeprom: FilePath | None = None
    i2c: FilePath | None = None
    socket: FilePath | None = None
    bus: str = ""
    select: Annotated[int, Field(ge=0, le=_HIGHEST_SELECT)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(each is not None for each in (self.eeprom, self.i2c, self.socket)) != 1:
            raise ValueError("a module is at exactly one of eeprom, i2c and socket")
        if (self.socket is None) != (not self.bus) or (self.socket is None) != (self.select is None):
            raise ValueError("bus and select go with socket, and it with them")
        return self


class Part(_Model):
    """Modules of the site's own that may be written to, by patterns with ``*`` and ``?``."""

    vendor: str
    part_number: str


class CmisNode(_Model):
    """How a node is driven through its modules.

    Attributes:
        profile: of their switches; ``auto`` goes by what each module offers, its own page first.
        bundles: the modules of each bundle, in the order of the fabric's bundles.
        parts: modules that may be written to, beside those that are known.
        poll: seconds between looks at a module that does not ask for one.
        telemetry: seconds between measurements, and between looks for modules that were replaced.
    """

    profile: Literal["auto", "ocstrx-b0", "cmis-6d", "cdb-8000"] = "auto"
    bundles: list[Annotated[list[ModuleAddress], Field(min_length=1)]]
    parts: list[Part] = []
    poll: Annotated[float, Field(ge=0.01, le=60)] = 1.0
    telemetry: Annotated[float, Field(ge=0.1, le=600)] = 5.0
