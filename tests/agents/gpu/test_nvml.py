"""GPU health by NVML, against a stand-in for its binding."""

import asyncio
import sys

import pytest

from ringlight.agents.gpu.file import NvmlGpus
from ringlight.agents.gpu.guarded import Hanging
from ringlight.agents.gpu.nvml import NvmlHealth, load_binding, nvml_problems
from ringlight.agents.ports import FaultClosed, FaultOpened
from ringlight.fabric.errors import UnavailableError

FAST = NvmlGpus.model_construct(devices=[], every=0.02, answer_within=5.0, settled_after=0.05)
SLOW = NvmlGpus(every=3600.0, settled_after=3600.0)


@pytest.fixture
async def watch(make_memory):
    """Opens a source over a machine; it is closed after the test."""
    opened = []

    async def start(nvml, file=FAST, *, gpus=None, hanging=None):
        source = NvmlHealth(
            gpus or len(nvml.gpus), file, make_memory(), binding=lambda: nvml, hanging=hanging or Hanging()
        )
        opened.append((nvml, source))
        await source.open()
        return source

    yield start
    for nvml, source in opened:
        nvml.may_return.set()
        await source.close()


def opened(events):
    return {event.fault.id: event.fault for event in events if isinstance(event, FaultOpened)}


def closed(events):
    return {event.fault_id for event in events if isinstance(event, FaultClosed)}


async def test_healthy_gpus_have_no_faults_and_are_measured(make_nvml, watch):
    nvml = make_nvml(2)
    nvml.gpus[1].rows = (3, 1, 0, 0)
    source = await watch(nvml)
    assert await source.read() == ()
    shown = {(one.family, *one.labels.values()): one.value for one in source.measurements()}
    assert shown["ringlight_gpu_present", "1"] == 1
    assert shown["ringlight_gpu_temperature_celsius", "1"] == 41
    assert shown["ringlight_gpu_remapped_rows", "1", "correctable"] == 3
    assert shown["ringlight_gpu_remapped_rows", "1", "uncorrectable"] == 1
    assert shown["ringlight_gpu_xids_total", "0"] == shown["ringlight_gpu_hanging_calls",] == 0


async def test_an_xid_is_heard_at_once_and_over_when_the_driver_is_content(make_nvml, watch, follow):
    nvml = make_nvml(2)
    following = follow(source := await watch(nvml))
    nvml.report(1, 94)
    await following.until(lambda events: "gpu1:xid94" in closed(events))
    fault = opened(following.events)["gpu1:xid94"]
    assert (fault.component, fault.code, fault.recovery) == ("gpu1", "xid:94", "")
    assert await source.read() == ()
    assert {one.value for one in source.measurements() if one.family == "ringlight_gpu_xids_total"} == {0, 1}


async def test_an_xid_carries_what_the_driver_wants_and_waits_for_it(make_nvml, watch, follow):
    nvml = make_nvml(1)
    following = follow(source := await watch(nvml))
    nvml.gpus[0].action = nvml.NVML_GPU_RECOVERY_ACTION_GPU_RESET
    nvml.report(0, 48)
    await following.until(lambda events: opened(events).get("gpu0:xid48", FaultOpened).recovery == "gpu-reset"
                          if "gpu0:xid48" in opened(events) else False)  # fmt: skip
    assert {fault.id for fault in await source.read()} == {"gpu0:xid48", "gpu0:xid154"}
    nvml.gpus[0].action = nvml.NVML_GPU_RECOVERY_ACTION_NONE
    await following.until(lambda events: {"gpu0:xid48", "gpu0:xid154"} <= closed(events))


async def test_the_bindings_own_numbers_are_used_for_actions(make_nvml, watch):
    nvml = make_nvml(1)
    nvml.gpus[0].action = nvml.NVML_GPU_RECOVERY_ACTION_BUS_RESET
    (fault,) = await (await watch(nvml)).read()
    assert (fault.code, fault.recovery) == ("xid:154", "gpu-reset-bus")


async def test_an_old_driver_knows_less(make_nvml, watch, follow):
    nvml = make_nvml(1)
    nvml.gpus[0].action = nvml.gpus[0].rows = None
    following = follow(source := await watch(nvml))
    nvml.report(0, 31)
    await following.until(opened)
    nvml.report(0, 13)
    await following.until(lambda events: len(opened(events)) == 2)
    assert closed(following.events) == set()
    families = {one.family for one in source.measurements()}
    assert "ringlight_gpu_present" in families
    assert "ringlight_gpu_remapped_rows" not in families


@pytest.mark.parametrize("code", ["NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_UNKNOWN", "NVML_ERROR_NOT_FOUND"])
async def test_a_gpu_without_a_handle_is_lost_and_comes_back(make_nvml, watch, follow, code):
    nvml = make_nvml(2)
    nvml.gpus[1].handle_error = getattr(nvml, code)
    source = await watch(nvml)
    assert [(fault.id, fault.code) for fault in await source.read()] == [("gpu1:lost", "gpu-lost")]
    following = follow(source)
    nvml.gpus[1].handle_error = None
    await following.until(lambda events: "gpu1:lost" in closed(events))


async def test_a_gpu_that_falls_off_the_bus_while_it_is_watched(make_nvml, watch, follow):
    nvml = make_nvml(2)
    following = follow(await watch(nvml))
    nvml.report(1, 79)
    await following.until(opened)
    nvml.gpus[1].error = nvml.gpus[1].handle_error = nvml.NVML_ERROR_GPU_IS_LOST
    nvml.break_waiting(nvml.NVML_ERROR_GPU_IS_LOST)
    await following.until(lambda events: "gpu1:lost" in opened(events))
    nvml.report(0, 95)  # the other one is heard all the same
    await following.until(lambda events: "gpu0:xid95" in opened(events))
    assert nvml.registered == [0]
    assert "gpu1:xid79" not in closed(following.events)
    nvml.gpus[1].error = nvml.gpus[1].handle_error = None
    await following.until(lambda events: {"gpu1:lost", "gpu1:xid79"} <= closed(events))
    nvml.report(1, 13)  # and so is the one that came back
    await following.until(lambda events: "gpu1:xid13" in opened(events))


async def test_an_error_about_a_detail_says_nothing_about_a_gpu(make_nvml, watch):
    nvml = make_nvml(1)
    source = await watch(nvml)
    nvml.gpus[0].error = nvml.NVML_ERROR_UNKNOWN
    await source.close()
    await source.open()
    assert await source.read() == ()


async def test_a_gpu_that_must_be_reset_says_so(make_nvml, watch):
    nvml = make_nvml(1)
    nvml.gpus[0].error = nvml.NVML_ERROR_RESET_REQUIRED
    (fault,) = await (await watch(nvml)).read()
    assert (fault.code, fault.recovery) == ("xid:154", "gpu-reset")


async def test_gpus_that_are_missing(make_nvml, watch, follow):
    nvml = make_nvml(8)
    nvml.count = 7
    source = await watch(nvml)
    (fault,) = await source.read()
    assert (fault.component, fault.code, fault.text) == ("gpus", "gpu-lost", "7 of 8 GPUs are there")
    nvml.count = 8
    following = follow(source)
    await following.until(lambda events: "gpus:missing" in closed(events))


async def test_more_gpus_than_the_node_has_cannot_be_told_apart(make_nvml, watch):
    with pytest.raises(UnavailableError, match="this machine has 8 GPUs, and the fabric file says 4") as told:
        await watch(make_nvml(8), gpus=4)
    assert "devices" in told.value.hint


async def test_gpus_by_their_addresses(make_nvml, watch, follow):
    nvml = make_nvml(8)
    file = FAST.model_copy(update={"devices": ["17:00.0", "12:00.0"]})
    source = await watch(nvml, file, gpus=2)
    following = follow(source)
    nvml.report(2, 48)  # the eighth is the node's first, the third its second
    await following.until(lambda events: "gpu1:xid48" in opened(events))
    nvml.report(0, 48)  # somebody else's
    nvml.gpus[7].error = nvml.NVML_ERROR_GPU_IS_LOST
    await following.until(lambda events: "gpu0:lost" in opened(events))
    assert opened(following.events).keys() == {"gpu1:xid48", "gpu0:lost"}


async def test_events_of_another_kind_only_make_it_look(make_nvml, watch, follow):
    nvml = make_nvml(1)
    following = follow(await watch(nvml, SLOW))
    nvml.gpus[0].action = nvml.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT
    nvml.report(0, 2, kind=nvml.nvmlEventTypeGpuRecoveryAction)
    found = await following.until(opened)
    assert found["gpu0:xid154"].recovery == "node-reboot"
    assert found.keys() == {"gpu0:xid154"}


async def test_gpus_that_report_nothing_are_looked_at(make_nvml, watch, follow):
    nvml = make_nvml(1)
    nvml.gpus[0].events = 0
    following = follow(await watch(nvml))
    nvml.gpus[0].rows = (0, 9, 1, 1)
    found = await following.until(opened)
    assert found.keys() == {"gpu0:remap-pending", "gpu0:remap-failed"}
    assert nvml.sets == 0


@pytest.mark.parametrize("code", ["NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED"])
async def test_no_gpu_here_is_said_so(make_nvml, memory, code):
    nvml = make_nvml(1)
    nvml.init_error = getattr(nvml, code)
    source = NvmlHealth(1, FAST, memory, binding=lambda: nvml)
    with pytest.raises(UnavailableError, match="NVML cannot be used: code") as told:
        await source.open()
    assert "`gpus: none`" in told.value.hint
    await source.close()
    assert nvml.started == 0


async def test_a_binding_that_lacks_what_is_called_is_a_lost_feed(make_nvml, watch, monkeypatch):
    nvml = make_nvml(1)
    monkeypatch.delattr(type(nvml), "nvmlDeviceGetRemappedRows")
    with pytest.raises(UnavailableError, match="the binding of NVML failed: AttributeError"):
        await watch(nvml)


async def test_this_very_machine_says_what_it_has(memory):
    """With NVIDIA's real binding: no GPU is an error in words, and a GPU is a reading."""
    pytest.importorskip("pynvml")
    source = NvmlHealth(1, FAST, memory)
    try:
        await source.open()
    except UnavailableError as error:
        assert str(error).startswith(("NVML cannot be used: ", "this machine has "))  # noqa: PT017
    else:
        await source.read()
    await source.close()


def test_a_binding_that_is_not_installed_is_said_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(UnavailableError, match="not installed") as told:
        load_binding()
    assert "ringlight[nvml]" in told.value.hint


async def test_a_driver_that_goes_away_ends_the_feed_and_closes_nothing(make_nvml, watch, follow):
    nvml = make_nvml(1)
    following = follow(source := await watch(nvml))
    nvml.gpus[0].action = None
    nvml.report(0, 48)
    await following.until(opened)
    nvml.break_waiting(nvml.NVML_ERROR_UNINITIALIZED)
    with pytest.raises(UnavailableError, match="NVML cannot be used"):
        await following.task
    await source.close()
    await source.open()
    assert [fault.id for fault in await source.read()] == ["gpu0:xid48"]
    assert nvml.started == 1


async def test_an_agent_that_starts_again_remembers_until_the_driver_is_content(make_nvml, watch, follow):
    nvml = make_nvml(2)
    nvml.gpus[1].action = None  # the driver does not say what it wants
    following = follow(await watch(nvml))
    nvml.report(1, 95)
    await following.until(opened)
    following.task.cancel()
    await asyncio.wait({following.task})
    again = await watch(nvml)
    assert [fault.id for fault in await again.read()] == ["gpu1:xid95"]
    following = follow(again)
    nvml.gpus[1].action = nvml.NVML_GPU_RECOVERY_ACTION_NONE
    await following.until(lambda events: "gpu1:xid95" in closed(events))
    following.task.cancel()
    await asyncio.wait({following.task})
    assert await (await watch(nvml)).read() == ()


async def test_a_library_that_hangs_ends_the_feed_and_is_left_alone(make_nvml, watch, follow):
    nvml, hanging = make_nvml(1), Hanging()
    file = FAST.model_copy(update={"answer_within": 0.05, "every": 0.01})
    following = follow(source := await watch(nvml, file, hanging=hanging))
    nvml.may_return.clear()
    with pytest.raises(UnavailableError, match="did not return within"):
        await following.task
    assert closed(following.events) == opened(following.events).keys() == set()
    assert hanging.count == 1
    assert [one.value for one in source.measurements() if one.family == "ringlight_gpu_hanging_calls"] == [1]
    await source.close()  # touches nothing that the hanging thread is in
    assert (hanging.count, nvml.started) == (1, 1)
    with pytest.raises(UnavailableError, match="did not return within"):
        await source.open()
    await source.close()
    assert hanging.count == 2
    nvml.may_return.set()
    await source.open()
    assert await source.read() == ()


async def test_stopping_does_not_wait_for_events(make_nvml, watch, follow):
    nvml = make_nvml(1)
    following = follow(source := await watch(nvml, SLOW))
    await asyncio.sleep(0)
    following.task.cancel()
    await asyncio.wait({following.task})
    async with asyncio.timeout(5):
        await source.close()
    assert (nvml.started, nvml.sets) == (0, 0)


def test_what_a_file_may_say_about_devices():
    here = NvmlGpus(devices=["0000:17:00.0", "18:00.0"])
    assert nvml_problems({"n0": NvmlGpus()}, 8) == []
    assert nvml_problems({"n0": here}, 2) == []
    assert [str(one) for one in nvml_problems({"n0": here}, 4)] == [
        "nodes.n0.gpus.nvml.devices: names 2 GPUs; the fabric's nodes have 4"
    ]
    told = nvml_problems({"n0": here, "n1": NvmlGpus(devices=["00000000:18:00.0", "19:00.0"]), "n2": NvmlGpus()}, 2)
    assert [str(one) for one in told] == [
        "nodes.n1.gpus.nvml.devices[0]: is the same GPU as nodes.n0.gpus.nvml.devices[1]",
        "nodes.n2.gpus.nvml.devices: is missing: several nodes have GPUs in this machine; say which are whose",
    ]
