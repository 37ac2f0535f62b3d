"""The form of a fabric file: what keys there are, and what each may hold.

Only the form of single values is checked here; whether they make sense together is `ringlight.fabric.file`'s business.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=63)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NodeEntry(_Model):
    """A node of an explicit list."""

    name: Name
    rack: str = ""


class NodeRange(_Model):
    """Nodes by number: ``{count: 64, prefix: n, first: 0, racks: 8}``.

    With racks, neighbours stand in different ones: node i stands in rack i mod racks.
    """

    count: int = Field(ge=1)
    prefix: Name = "n"
    first: int = Field(default=0, ge=0)
    racks: int = Field(default=0, ge=0)


class BundleEntry(_Model):
    """A bundle and the edge of the intra-node ring it sits on."""

    edge: int = Field(ge=0)
    modules: int = Field(default=8, ge=1)


# A value that may take one of two forms is judged by the form it resembles, so that a mistake is reported once. The
# tags show up in the paths of errors, and their angle brackets are how they are told from keys.
_NodeForm = Annotated[
    Annotated[Name, Tag("<name>")] | Annotated[NodeEntry, Tag("<node>")],
    Discriminator(lambda value: "<node>" if isinstance(value, dict) else "<name>"),
]
_NodesForm = Annotated[
    Annotated[list[_NodeForm], Tag("<list>")] | Annotated[NodeRange, Tag("<range>")],
    Discriminator(lambda value: "<range>" if isinstance(value, dict) else "<list>"),
]
_BundlesForm = Annotated[
    Annotated[int, Tag("<count>")] | Annotated[list[BundleEntry], Tag("<bundles>")],
    Discriminator(lambda value: "<bundles>" if isinstance(value, list) else "<count>"),
]


def is_tag(part: int | str) -> bool:
    """Whether a part of an error's path names a form instead of a key."""
    return isinstance(part, str) and part.startswith("<")


class FabricEntry(_Model):
    """A whole fabric file."""

    name: Name
    k: int = Field(ge=1, le=4)
    closed: bool = True
    gpus: int = Field(ge=2)
    bundles: _BundlesForm | None = None
    nodes: _NodesForm
    ports: dict[str, int] | None = None
    fibres: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = None
