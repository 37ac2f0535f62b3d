"""NVIDIA's own binding, over a library made for this test: that what goes through ctypes is what is meant."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = shutil.which("cc")
SOURCE = Path(__file__).with_name("fake_library.c")
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from ringlight.agents.gpu.file import NvmlGpus
from ringlight.agents.gpu.memory import XidMemory
from ringlight.agents.gpu.nvml import NvmlHealth
from ringlight.agents.ports import FaultOpened

async def main():
    file = NvmlGpus(devices=json.loads(sys.argv[1]), every=0.1, settled_after=0.1)
    source = NvmlHealth(2, file, XidMemory(Path(sys.argv[2])))
    await source.open()
    shown = {" ".join([one.family, *one.labels.values()]): one.value for one in source.measurements()}
    events = []
    async for event in source.events():
        opened = isinstance(event, FaultOpened)
        events.append([event.fault.id, event.fault.recovery] if opened else [event.fault_id])
        if not opened and not await source.read():
            break
    await source.close()
    print(json.dumps([shown, events]))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    pytest.importorskip("pynvml")
    if COMPILER is None:
        pytest.skip("no C compiler here")
    directory = tmp_path_factory.mktemp("library")
    made = directory / "libnvidia-ml.so.1"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", made, SOURCE], check=True)
    return directory


@pytest.mark.parametrize("devices", [[], ["0000:01:00.0", "0000:02:00.0"]])
def test_the_binding_and_the_agent_mean_the_same(library, tmp_path, devices):
    environment = os.environ | {"LD_LIBRARY_PATH": str(library)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(devices), str(tmp_path / "xids.json")],
        env=environment,
        check=True,
        capture_output=True,
        timeout=60,
    )
    shown, events = json.loads(done.stdout)
    assert shown == {
        "ringlight_gpu_present 0": 1,
        "ringlight_gpu_present 1": 1,
        "ringlight_gpu_temperature_celsius 0": 50,
        "ringlight_gpu_temperature_celsius 1": 51,
        "ringlight_gpu_row_remap_pending 1": 0,
        "ringlight_gpu_row_remap_failed 1": 0,
        "ringlight_gpu_remapped_rows 1 correctable": 3,
        "ringlight_gpu_remapped_rows 1 uncorrectable": 1,
        "ringlight_gpu_xids_total 0": 0,
        "ringlight_gpu_xids_total 1": 0,
        "ringlight_gpu_hanging_calls": 0,
    }
    assert events == [
        ["gpu1:xid48", ""],
        ["gpu1:xid154", "gpu-reset"],
        ["gpu1:xid48", "gpu-reset"],
        ["gpu1:xid48", ""],
        ["gpu1:xid154"],
        ["gpu1:xid48"],
    ]
