"""The form of a fabric file: what keys there are, and what each may hold.

Only the form of single values is described here; whether they make sense together is `ringlight.fabric.assembly`'s
business. None stands for a value that the file does not give, or that was wrong and was reported: it lets the rest of
a file with mistakes be judged. A file itself cannot say None, for `ringlight.fabric.document` reports it.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

MAX_NAME = 63  # characters: a name must do as a host name
MAX_K = 4  # hop distances
MAX_NODES = 100_000
MAX_GPUS = 1024  # a node
MAX_MODULES = 1024  # a bundle

EXPECTED = "expected"  # type of the errors of `_expected`


def _expected(words: str) -> WrapValidator:
    """Whatever is wrong with a value, say what was expected instead."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError(EXPECTED, "{words}", {"words": words}) from None

    return WrapValidator(validate)


Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=MAX_NAME),
    _expected(f"a name of at most {MAX_NAME} letters, digits, '.', '_' and '-' that begins with a letter or digit"),
]
Text = Annotated[str, _expected("text")]
PortText = Annotated[str, _expected("a port such as n0/b0.p1")]
Closed = Annotated[bool, _expected("true or false")]
K = Annotated[int, Field(ge=1, le=MAX_K), _expected(f"a whole number from 1 to {MAX_K}")]
Distance = Annotated[int, Field(ge=1, lt=MAX_NODES), _expected(f"a whole number from 1 to {MAX_NODES - 1}")]
Gpus = Annotated[int, Field(ge=2, le=MAX_GPUS), _expected(f"a whole number from 2 to {MAX_GPUS}")]
Count = Annotated[int, Field(ge=1, le=MAX_NODES), _expected(f"a whole number from 1 to {MAX_NODES}")]
Modules = Annotated[int, Field(ge=1, le=MAX_MODULES), _expected(f"a whole number from 1 to {MAX_MODULES}")]
FromZero = Annotated[int, Field(ge=0, le=10**9), _expected("a whole number from 0 on")]
BundleCount = Annotated[int, _expected("a number of bundles, or a list of {edge, modules}")]
Offset = Annotated[int, _expected("an offset in positions such as 1 or -2")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NodeEntry(_Model):
    """A node of an explicit list."""

    name: Name
    rack: Text = ""
    domain: Text = ""


class NodeRange(_Model):
    """Nodes by number: ``{racks: 8, nodes_per_rack: 8, domains: 2, prefix: n, first: 0}``.

    0 stands for a number that the file does not give. With racks, node i stands in rack i mod racks; see
    `ringlight.fabric.deployment`.
    """

    count: Count = 0
    prefix: Name = "n"
    first: FromZero = 0
    racks: FromZero = 0
    nodes_per_rack: Count = 0
    domains: Count = 0


class BundleEntry(_Model):
    """A bundle and the edge of the intra-node ring it sits on."""

    edge: FromZero
    modules: Modules = 8


class FibreEntry(_Model):
    """A fibre by its two ends, in either order."""

    start: PortText = Field(alias="from")
    end: PortText = Field(alias="to")


FibrePair = Annotated[list[PortText], Field(min_length=2, max_length=2)]

# A value that may take one of two forms is judged by the form it resembles, so that a mistake is reported once. The
# tags show up in the paths of errors, and their angle brackets are how they are told from keys.
NodeForm = Annotated[
    Annotated[Name, Tag("<name>")] | Annotated[NodeEntry, Tag("<node>")],
    Discriminator(lambda value: "<node>" if isinstance(value, dict) else "<name>"),
]
NodesForm = Annotated[
    Annotated[list[NodeForm | None], Tag("<list>")] | Annotated[NodeRange, Tag("<range>")],
    Discriminator(lambda value: "<range>" if isinstance(value, dict) else "<list>"),
]
BundlesForm = Annotated[
    Annotated[BundleCount, Tag("<count>")] | Annotated[list[BundleEntry | None], Tag("<bundles>")],
    Discriminator(lambda value: "<bundles>" if isinstance(value, list) else "<count>"),
]
FibreForm = Annotated[
    Annotated[FibrePair, Tag("<pair>")] | Annotated[FibreEntry, Tag("<fibre>")],
    Discriminator(lambda value: "<fibre>" if isinstance(value, dict) else "<pair>"),
]


class FabricEntry(_Model):
    """A whole fabric file."""

    name: Name | None
    k: K | None = None
    closed: Closed | None = True
    gpus: Gpus | None
    distances: list[Distance | None] | None = None
    bundles: BundlesForm | None = None
    nodes: NodesForm | None
    ports: dict[str, Offset | None] | None = None
    fibres: list[FibreForm | None] | None = None


def is_tag(part: int | str) -> bool:
    """Whether a part of an error's path names a form instead of a key."""
    return isinstance(part, str) and part.startswith("<")


def keys_of(model: type[BaseModel]) -> tuple[str, ...]:
    """The keys a mapping of this form may have, as they are written in a file."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


FABRIC_KEYS = keys_of(FabricEntry)
KEYS_UNDER = {
    "<range>": keys_of(NodeRange),
    "<node>": keys_of(NodeEntry),
    "<bundles>": keys_of(BundleEntry),
    "<fibre>": keys_of(FibreEntry),
}
