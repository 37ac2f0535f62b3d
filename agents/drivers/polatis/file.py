"""The parts of an agent's file that are about matrix switches: their form, not whether they make sense together.

That they do is `patch.patch_of`'s business, which knows the fabric. docs/polatis.md explains every key.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ringlight.agents.drivers.polatis.patch import Plugs

_MOST_PORTS = 2048  # of a switch: twice of the largest that is made

PortNumber = Annotated[int, Field(ge=1, le=_MOST_PORTS)]
Ports = Annotated[
    tuple[PortNumber, ...],
    Field(min_length=1, strict=False),
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,)),
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class BundlePorts(_Model):
    """Where a bundle is plugged in: ``{in: 1, out: 17}``, or a list of ports with one for each of its modules."""

    ingresses: Ports = Field(alias="in")
    """Ports that its modules send into."""

    egresses: Ports = Field(alias="out")
    """Ports that its modules listen at."""


class PolatisSwitch(_Model):
    """One matrix switch."""

    address: Annotated[str, Field(pattern=r"^\S+:\d{1,5}$")]
    """`HOST:PORT` of its SCPI service; the port is 5025 unless somebody changed it."""

    serial: str = ""
    """Serial number of the switch that is meant; another one is left alone. Empty for any."""

    ports: dict[str, list[BundlePorts]]
    """For each node plugged in, its bundles in order; also nodes that other agents serve."""

    light_above: Annotated[float, Field(ge=-80, le=30, strict=False)] | None = None
    """dBm at an egress that count as light. Without it the switch's monitors are not used."""

    poll: Annotated[float, Field(ge=0.02, le=60, strict=False)] = 0.25
    """Seconds between readings that nobody here asked for: light, failed ports, other clients."""

    answer_within: Annotated[float, Field(ge=0.05, le=60, strict=False)] = 0.4
    """Seconds until a switch that does not answer counts as gone; a move may take five times as long."""

    def plugs(self) -> Mapping[str, tuple[Plugs, ...]]:
        """The table of ports, by node."""
        return {
            node: tuple(Plugs(bundle.ingresses, bundle.egresses) for bundle in bundles)
            for node, bundles in self.ports.items()
        }


class PolatisNode(_Model):
    """How a node is driven: through one of the agent's ``switches``."""

    switch: str
    """Which of the agent's `switches`."""


def unknown_switch(node: PolatisNode, switches: Mapping[str, Any]) -> str:
    """What is wrong with the switch that a node names; empty when there is such a one."""
    known = ", ".join(switches) or "none"
    return "" if node.switch in switches else f"there is no switch {node.switch!r}; known are {known}"
