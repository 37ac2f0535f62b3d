"""The compose file as data, and what its services would run when paths and addresses are those of this machine."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = DEPLOY / "compose.yaml"


@dataclass(frozen=True, slots=True)
class Mount:
    """What a service sees at `target`: a folder of deploy/ that it cannot change, or a volume."""

    target: str
    source: str
    read_only: bool
    volume: bool


@dataclass(frozen=True, slots=True)
class Service:
    """One service, as far as it is looked at."""

    name: str
    definition: Mapping[str, Any]

    @property
    def command(self) -> list[str]:
        return list(self.definition["command"])

    @property
    def health_check(self) -> list[str]:
        """Its command; two dollars stand for one."""
        kind, *command = self.definition["healthcheck"]["test"]
        assert kind == "CMD", "a health check runs without a shell"
        return [argument.replace("$$", "$") for argument in command]

    @property
    def mounts(self) -> list[Mount]:
        return [
            Mount(entry["target"], entry["source"], entry.get("read_only", False), entry["type"] == "volume")
            for entry in self.definition.get("volumes", ())
        ]


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return loaded


def services() -> dict[str, Service]:
    return {name: Service(name, definition) for name, definition in document()["services"].items()}


class Host:
    """Runs services without containers: a mount is a folder below `directory`, an address one of this machine.

    Args:
        directory: of this machine, in place of volumes and of what is mounted.
        addresses: what stands in commands and files, by what takes its place there.
    """

    def __init__(self, directory: Path, addresses: Mapping[str, str]) -> None:
        self._directory = directory
        self._addresses = dict(addresses)

    def localise(self, service: Service) -> Callable[[str], str]:
        """Replaces paths and addresses in an argument of this service; its mounts are there afterwards."""
        here = {mount.target: self._provide(service, mount) for mount in service.mounts} | self._addresses
        either = "|".join(re.escape(text) for text in sorted(here, key=len, reverse=True))
        pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)")  # at once, so that nothing is replaced twice

        def localised(text: str) -> str:
            return pattern.sub(lambda found: here[found[0]], text)

        for path in self._files(service):
            path.write_text(localised(path.read_text(encoding="utf-8")), encoding="utf-8")
        return localised

    def _provide(self, service: Service, mount: Mount) -> str:
        if mount.volume:
            folder = self._directory / "volumes" / mount.source
            folder.mkdir(parents=True, exist_ok=True)
            return str(folder)
        folder = self._directory / service.name / mount.source.strip("./")
        for path in (DEPLOY / mount.source).rglob("*"):
            if path.is_file():
                copy = folder / path.relative_to(DEPLOY / mount.source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
        return str(folder)

    def _files(self, service: Service) -> Iterator[Path]:
        for path in (self._directory / service.name).rglob("*"):
            if path.is_file() and path.suffix in {".yaml", ".yml", ".conf"}:
                yield path
