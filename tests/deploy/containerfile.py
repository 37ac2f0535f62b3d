"""The container file as data: its stages, and the arguments of each instruction."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "Containerfile"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; `value` is what follows its name."""

    name: str
    value: str

    @property
    def arguments(self) -> list[str]:
        """Of a command that runs without a shell, or of a COPY."""
        return json.loads(self.value) if self.value.startswith("[") else self.value.split()


def stages(path: Path = CONTAINERFILE) -> list[list[Instruction]]:
    """The instructions of each stage, its FROM first; what stands before the first FROM is left out."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    found: list[list[Instruction]] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, value = line.partition(" ")
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append(Instruction(name, value.strip()))
    return found


def install_as_written(directory: Path, interpreter: str, modules: Path) -> Path:
    """Do what the build stage does, below `directory`; returns the directory that the image has as /opt/ringlight.

    What is not done as written: paths lie below `directory`, `python` is this interpreter, what is to be downloaded or
    installed for the build is not, and what Ringlight requires comes from `modules` in place of downloaded wheels.
    """
    inside = {"/src": "src", "/dist": "dist", "/wheels": "wheels", "/opt/ringlight": "opt"}
    paths = {path: str(directory / name) for path, name in inside.items()} | {"python": interpreter}
    for name in inside.values():
        (directory / name).mkdir()
    for instruction in stages()[0]:
        arguments = [paths.get(argument, argument) for argument in instruction.arguments]
        if instruction.name == "COPY":
            _copy(arguments, directory / "src")
        elif instruction.name == "RUN" and "download" not in arguments and "setuptools" not in arguments:
            alone = ["--no-deps"] if "install" in arguments else []
            done = subprocess.run(
                [*arguments, *alone], cwd=directory / "src", capture_output=True, text=True, check=False, timeout=100
            )
            assert done.returncode == 0, done.stderr
    (site,) = (directory / "opt" / "lib").glob("python3*/site-packages")
    (site / "required.pth").write_text(f"{modules}\n", encoding="utf-8")
    return directory / "opt"


def _copy(arguments: list[str], source: Path) -> None:
    *names, target = arguments
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / target)
