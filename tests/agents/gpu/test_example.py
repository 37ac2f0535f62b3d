"""The example of a command prints what an agent understands."""

import sys
from pathlib import Path

import pytest

from ringlight.agents.gpu.command import faults_of, read_report
from ringlight.agents.gpu.program import run
from ringlight.fabric.circuits import FaultClass
from ringlight.fabric.errors import UnavailableError

EXAMPLE = Path(__file__).parents[3] / "deploy" / "examples" / "amdgpu-health"


@pytest.fixture
def sysfs(tmp_path):
    """Two GPUs as the kernel shows them, and a card of somebody else's."""
    for card, address, driver in (
        (0, "0000:c3:00.0", "amdgpu"),
        (1, "0000:83:00.0", "amdgpu"),
        (2, "0000:02:00.0", "ast"),
    ):
        device = tmp_path / "devices" / address
        (device / "ras").mkdir(parents=True)
        (device / "hwmon" / "hwmon3").mkdir(parents=True)
        (device / "hwmon" / "hwmon3" / "temp1_input").write_text("43500\n")
        (device / "ras" / "umc_err_count").write_text("ue: 0\nce: 12\n")
        (tmp_path / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (device / "driver").symlink_to(tmp_path / "drivers" / driver)
        (tmp_path / "class" / "drm" / f"card{card}").mkdir(parents=True)
        (tmp_path / "class" / "drm" / f"card{card}" / "device").symlink_to(device)
    return tmp_path


async def printed(sysfs, expected):
    return read_report(await run([sys.executable, str(EXAMPLE), str(expected), str(sysfs)], 30.0))


async def test_healthy_gpus(sysfs):
    report = await printed(sysfs, 2)
    assert report.faults == []
    assert report.temperatures == {0: 43.5, 1: 43.5}


async def test_errors_and_a_missing_gpu(sysfs):
    (sysfs / "devices" / "0000:c3:00.0" / "ras" / "umc_err_count").write_text("ue: 3\nce: 12\n")
    faults = faults_of(await printed(sysfs, 3))
    assert {one.id: one.fault_class for one in faults.values()} == {
        "gpus:gpu-lost": FaultClass.FATAL,
        "gpu1:ras:umc": FaultClass.DEGRADED,
    }


async def test_no_gpu_is_a_failure_and_not_a_report(tmp_path):
    with pytest.raises(UnavailableError, match="serves no GPU here"):
        await printed(tmp_path, 8)
