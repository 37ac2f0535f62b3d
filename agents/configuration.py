"""What an agent's configuration file holds: its form, as far as it can be judged without the fabric's cabling.

Each kind of hardware describes its own part of it, beside its driver. What the parts mean together with the fabric,
`backends` says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ringlight.agents.drivers.cmis.file import CmisNode
from ringlight.agents.drivers.polatis.file import PolatisNode, PolatisSwitch
from ringlight.agents.gpu.file import CommandGpus, DcgmGpus, NoGpus, NvmlGpus
from ringlight.agents.settings import AgentSettings
from ringlight.agents.state_file import AGENT_ID, AGENT_ID_FORM
from ringlight.fabric.errors import InvalidError
from ringlight.fabric.setting import Setting, setting_from
from ringlight.fabric.wiring import Wiring

_FilePath = Annotated[Path, Field(strict=False)]
ADDRESS = r"^\S+:\d{1,5}$"
AGENT = f"^{AGENT_ID.pattern}$"
_Address = Annotated[str, Field(pattern=ADDRESS)]
_SETTINGS: dict[str, Any] = TypeAdapter(AgentSettings).json_schema()["properties"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class _OneOf(_Model):
    """A choice: exactly one of its keys is given."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"expected exactly one of {', '.join(_names(type(self)))}")
        return self

    @property
    def kind(self) -> str:
        """The key that is given."""
        return _names(type(self), self.model_fields_set)[0]

    @property
    def chosen(self) -> Any:
        """What is given below it."""
        return getattr(self, next(iter(self.model_fields_set)))


def _names(model: type[BaseModel], fields: set[str] | None = None) -> list[str]:
    chosen = model.model_fields if fields is None else fields
    return [model.model_fields[field].alias or field for field in chosen]


class EmulatorSocket(_Model):
    """Emulated hardware."""

    socket: _FilePath
    """Socket of the emulated hardware, see `ringlight emulator run --socket`."""


class Circuits(_OneOf):
    """What a node's bundles are driven with."""

    emulator: EmulatorSocket | None = None
    cmis: CmisNode | None = None
    polatis: PolatisNode | None = None


class Gpus(_OneOf):
    """Where a node's GPU health comes from. ``gpus: none`` is short for ``gpus: {none: {}}``."""

    emulator: EmulatorSocket | None = None
    nvml: NvmlGpus | None = None
    dcgm: DcgmGpus | None = None
    command: CommandGpus | None = None
    nothing: NoGpus | None = Field(default=None, alias="none")


def _spelled_out(value: Any) -> Any:
    return {"none": {}} if value == "none" else value


class MqttFile(_Model):
    """Heartbeats go over a broker, and over the stream whenever they are not answered."""

    broker: str
    """Its address: `mqtt://HOST`, or `mqtts://USER@HOST` for TLS."""

    password_file: _FilePath | None = None
    """A file with the password in its first line."""

    ca_file: _FilePath | None = None
    """Certificates that the broker's is checked by (PEM), in place of the system's."""


class NodeFile(_Model):
    """One node."""

    circuits: Circuits
    """What its bundles are driven with."""

    gpus: Annotated[Gpus, BeforeValidator(_spelled_out)]
    """Where its GPU health comes from; `none` when nobody reports it."""


class AgentFile(_Model):
    """The configuration of one agent."""

    id: Annotated[str, Field(pattern=AGENT)]
    """Name of the agent, unique in its fabric."""

    controller: _Address
    """Address of the controller."""

    state: _FilePath
    """Directory in which the agent remembers whom it obeyed."""

    fabric: _FilePath | None = None
    """The fabric file, whose cabling the agent reports; emulated hardware knows its own."""

    metrics: _Address | None = None
    """Where the agent's own metrics are served; nowhere when left out."""

    mqtt: MqttFile | None = None
    """Where heartbeats go instead of the stream; see docs/mqtt.md."""

    nodes: Annotated[dict[str, NodeFile], Field(min_length=1)]
    """The nodes it serves, by name."""

    switches: dict[str, PolatisSwitch] = {}
    """Matrix switches that its nodes are plugged in at, by a name of your choice."""

    settings: AgentSettings = AgentSettings()
    """How it behaves; `ringlight config show --agent` lists them."""

    def circuits_of(self, kind: str) -> dict[str, Any]:
        """What stands below this kind of circuits, for each node that has it."""
        return {name: node.circuits.chosen for name, node in self.nodes.items() if node.circuits.kind == kind}

    def gpus_of(self, kind: str) -> dict[str, Any]:
        """What stands below this kind of source of GPU health, for each node that has it."""
        return {name: node.gpus.chosen for name, node in self.nodes.items() if node.gpus.kind == kind}


@dataclass(frozen=True, slots=True)
class AgentConfiguration:
    """What an agent runs by.

    Attributes:
        file: its file.
        wiring: of the fabric that it names; None when none of the hardware has to be told.
    """

    file: AgentFile
    wiring: Wiring | None


def emulated_agent(
    *, agent_id: str, nodes: Sequence[str], controller: str, socket: Path, state: Path
) -> AgentConfiguration:
    """An agent of emulated nodes that all live behind one socket, as the command line describes it.

    Raises:
        InvalidError: the id is not one.
    """
    emulator = EmulatorSocket(socket=socket)
    node = NodeFile(circuits=Circuits(emulator=emulator), gpus=Gpus(emulator=emulator))
    try:
        file = AgentFile(id=agent_id, controller=controller, state=state, nodes=dict.fromkeys(nodes, node))
    except ValidationError as error:
        raise InvalidError(f"{agent_id!r} is not an agent id", hint=f"use {AGENT_ID_FORM}") from error
    return AgentConfiguration(file, None)


def settings_of(settings: AgentSettings) -> tuple[Setting, ...]:
    """Every setting of an agent, in the order of its definition."""
    defaults = AgentSettings()
    return tuple(
        setting_from(f"settings.{name}", schema, getattr(settings, name), getattr(defaults, name))
        for name, schema in _SETTINGS.items()
    )
