"""GPU health by a DCGM exporter's page: what is news on it, what is history, and what the exporter cannot know."""

import asyncio
import contextlib

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.gpu.dcgm import DcgmHealth, dcgm_problems
from ringlight.agents.gpu.dcgm_page import PageWatch, read_page
from ringlight.agents.gpu.file import DcgmGpus
from ringlight.agents.ports import FaultClosed, FaultOpened
from ringlight.fabric.errors import UnavailableError

SETTLED = 10.0


def page(*gpus, count=()):
    """A page as an exporter writes it: for each GPU the value of each metric, and counts as (gpu, xid, number)."""
    lines = ["# HELP DCGM_FI_DEV_XID_ERRORS Value of the last XID error encountered."]
    for number, values in enumerate(gpus):
        for name, value in (values or {}).items():
            labels = f'gpu="{number}",UUID="GPU-{number}",device="nvidia{number}",modelName="H100",Hostname="h"'
            lines += [f"DCGM_FI_DEV_{name}{{{labels}}} {value}"]
    lines += [
        f'DCGM_EXP_XID_ERRORS_COUNT{{gpu="{gpu}",UUID="GPU-{gpu}",window_size_in_ms="300000",xid="{xid}"}} {number}'
        for gpu, xid, number in count
    ]
    return "\n".join([*lines, ""])


class Watching:
    """Takes pages, a second apart."""

    def __init__(self, devices):
        self.watch = PageWatch(devices, SETTLED)
        self.now = 0.0

    def take(self, text, seconds=1.0):
        self.now += seconds
        self.watch.take(read_page(text), self.now)
        return sorted(self.watch.ledger.faults())


@pytest.fixture
def watching():
    return Watching([0])


def test_what_the_first_page_shows_is_history(watching):
    assert watching.take(page({"XID_ERRORS": 79, "GPU_TEMP": 40})) == []
    assert watching.take(page({"XID_ERRORS": 79, "GPU_TEMP": 40})) == []


def test_unless_it_was_counted_lately(watching):
    assert watching.take(page({"XID_ERRORS": 79}, count=[(0, 79, 1), (0, 31, 2)])) == ["gpu0:xid31", "gpu0:xid79"]


def test_an_xid_that_is_new_on_a_page_happened(watching):
    watching.take(page({"XID_ERRORS": 0}))
    assert watching.take(page({"XID_ERRORS": 48})) == ["gpu0:xid48"]
    assert watching.take(page({"XID_ERRORS": 45})) == ["gpu0:xid45", "gpu0:xid48"]
    assert watching.watch.xids[0] == 2


def test_an_exporter_that_was_started_anew_cures_nothing(watching):
    watching.take(page({"XID_ERRORS": 0}))
    watching.take(page({"XID_ERRORS": 48}))
    assert watching.take(page({"XID_ERRORS": 0})) == ["gpu0:xid48"]
    assert watching.take(page({"GPU_TEMP": 30})) == ["gpu0:xid48"]
    watching.take(page({"XID_ERRORS": 48}))
    assert watching.watch.xids[0] == 2  # it happened again


def test_a_page_without_the_metric_forgets_nothing(watching):
    watching.take(page({"XID_ERRORS": 31}))
    watching.take(page({"GPU_TEMP": 30}))
    assert watching.take(page({"XID_ERRORS": 31})) == []


def test_a_repetition_is_seen_where_xids_are_counted(watching):
    watching.take(page({"XID_ERRORS": 31}, count=[(0, 31, 1)]))
    watching.take(page({"XID_ERRORS": 31}, count=[(0, 31, 2)]))
    watching.take(page({"XID_ERRORS": 31}, count=[(0, 31, 1)]))  # one is too old to be counted
    watching.take(page({"XID_ERRORS": 31}, count=[(0, 31, 1)]))
    assert watching.watch.xids[0] == 2
    assert watching.take(page({"XID_ERRORS": 31}, count=[(0, 31, 1), (0, 0, 5)])) == ["gpu0:xid31"]


@pytest.mark.parametrize("name", ["GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION"])
def test_what_the_driver_wants_ends_an_xid_if_the_site_exports_it(watching, name):
    watching.take(page({"XID_ERRORS": 0, name: 0}))
    assert watching.take(page({"XID_ERRORS": 48, name: 1})) == ["gpu0:xid154", "gpu0:xid48"]
    assert watching.watch.ledger.faults()["gpu0:xid48"].recovery == "gpu-reset"
    assert watching.take(page({"XID_ERRORS": 48, name: 0})) == ["gpu0:xid48"]
    assert watching.take(page({"XID_ERRORS": 48, name: 0}), SETTLED) == []


def test_rows_that_cannot_be_replaced(watching):
    failed = {"ROW_REMAP_FAILURE": 1, "ROW_REMAP_PENDING": 0, "CORRECTABLE_REMAPPED_ROWS": 4}
    assert watching.take(page(failed)) == ["gpu0:remap-failed"]
    assert watching.watch.measured[0].remapped_correctable == 4
    assert watching.watch.measured[0].remap_pending is False
    assert watching.watch.measured[0].temperature is None


@pytest.mark.parametrize("blank", ["2147483632", "9223372036854775792", "NaN", "-1"])
def test_what_dcgm_does_not_know_is_not_known(watching, blank):
    values = {"ROW_REMAP_FAILURE": blank, "XID_ERRORS": blank, "GPU_RECOVERY_ACTION": blank, "GPU_TEMP": blank}
    watching.take(page({"GPU_TEMP": 1}))
    assert watching.take(page(values | {"POWER_USAGE": 100})) == []
    assert watching.watch.measured[0].remap_failed is None


def test_a_gpu_missing_from_three_pages_in_a_row_is_gone():
    watching = Watching([0, 1])
    both, one = page({"XID_ERRORS": 0}, {"XID_ERRORS": 0}), page({"XID_ERRORS": 0})
    watching.take(both)
    assert [watching.take(each) for each in (one, one, both, one, one)] == [[]] * 5
    assert watching.take(one) == ["gpu1:lost"]
    assert watching.watch.measured[1].present is False
    assert watching.take(both) == []


def test_parts_of_a_gpu_are_one_gpu(watching):
    text = page({"XID_ERRORS": 0}) + 'DCGM_FI_DEV_XID_ERRORS{gpu="0",GPU_I_ID="3"} 0\n'
    watching.take(text)
    assert watching.take(text + 'DCGM_FI_DEV_XID_ERRORS{gpu="0",GPU_I_ID="5"} 43\n') == ["gpu0:xid43"]


def test_the_nodes_gpus_are_those_that_the_file_names():
    watching = Watching([2, 1])
    quiet = [{"XID_ERRORS": 0}] * 3
    watching.take(page(*quiet))
    assert watching.take(page({"XID_ERRORS": 79}, {"XID_ERRORS": 0}, {"XID_ERRORS": 48})) == ["gpu0:xid48"]


def test_a_page_about_nothing_of_ours_is_an_error(watching):
    with pytest.raises(ValueError, match="nothing about the GPUs 0"):
        watching.take('node_load1 1\nDCGM_FI_DEV_GPU_TEMP{gpu="4"} 3\n')
    with pytest.raises(ValueError):  # noqa: PT011  # the parser's own
        watching.take("<html>{not a page</html> x\n")


LINE = st.builds(
    "{}{{gpu={},xid={}}} {}".format,
    st.sampled_from(["DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_DEV_GPU_TEMP", "up"]),
    st.sampled_from(['"0"', '"x"', '""', '"\u0663"', "", '"0']),
    st.sampled_from(['"79"', '""', '"x"']),
    st.sampled_from(["79", "0", "1e300", "-Inf", "NaN", "0x1", ""]) | st.floats().map(str),
)


@given(st.text() | st.lists(LINE | st.text(alphabet='{}"=,# DCGM_\\gpu0\n', max_size=30), max_size=6).map("\n".join))
def test_whatever_is_served_is_a_page_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        PageWatch([0], SETTLED).take(read_page(text), 0.0)


def test_what_a_file_may_say_about_devices():
    url = "http://h:9400/metrics"
    all_of_it = DcgmGpus(url=url)
    assert dcgm_problems({"n0": all_of_it, "n1": DcgmGpus(url="http://other:9400/metrics")}, 4) == []
    told = dcgm_problems({"n0": all_of_it, "n1": DcgmGpus(url=url, devices=[3, 4, 4])}, 4)
    assert [str(one) for one in told] == [
        "nodes.n1.gpus.dcgm.devices: names 3 GPUs; the fabric's nodes have 4",
        "nodes.n1.gpus.dcgm.devices: GPU 3 of this exporter is one of n0's",
        "nodes.n1.gpus.dcgm.devices: names a GPU twice",
    ]


class Exporter:
    """A small exporter."""

    def __init__(self):
        self.status = 200
        self.body = page({"XID_ERRORS": 0, "GPU_TEMP": 44})
        self.answers = asyncio.Event()
        self.answers.set()
        self.url = ""

    async def show(self, _):
        await self.answers.wait()
        return web.Response(text=self.body, status=self.status)


@pytest.fixture
async def exporter():
    fake = Exporter()
    application = web.Application()
    application.router.add_get("/metrics", fake.show)
    runner = web.AppRunner(application, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
    yield fake
    fake.answers.set()
    await runner.cleanup()


def over(exporter, memory, **changes):
    settings = {"url": exporter.url, "devices": [], "every": 0.01, "answer_within": 5.0, "settled_after": 0.02}
    return DcgmHealth(1, DcgmGpus.model_construct(**(settings | changes)), memory)


async def test_over_http_faults_open_and_close(exporter, memory, follow):
    source = over(exporter, memory)
    await source.open()
    assert await source.read() == ()
    shown = {one.family: one.value for one in source.measurements()}
    assert shown["ringlight_gpu_temperature_celsius"] == 44
    following = follow(source)
    exporter.body = page({"XID_ERRORS": 94, "GPU_RECOVERY_ACTION": 0})
    events = await following.until(lambda events: events if len(events) == 2 else None)
    assert isinstance(events[0], FaultOpened)
    assert events == [events[0], FaultClosed("gpu0:xid94")]
    following.task.cancel()
    await source.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda exporter: setattr(exporter, "status", 503), "it answers with status 503"),
        (lambda exporter: setattr(exporter, "body", "up 1\n"), "there is nothing about the GPUs 0"),
        (lambda exporter: setattr(exporter, "body", "x" * (1 << 24) + "x"), "more than"),
        (lambda exporter: exporter.answers.clear(), "cannot get"),
    ],
)
async def test_a_page_that_cannot_be_had_ends_the_feed_and_closes_nothing(exporter, memory, follow, spoil, said):
    source = over(exporter, memory, answer_within=0.5)
    await source.open()
    following = follow(source)
    exporter.body = page({"XID_ERRORS": 48})
    await following.until(bool)
    spoil(exporter)
    with pytest.raises(UnavailableError, match=said):
        await following.task
    await source.close()
    exporter.answers.set()
    exporter.status, exporter.body = 200, page({"XID_ERRORS": 48})
    await source.open()
    assert [fault.id for fault in await source.read()] == ["gpu0:xid48"]
    await source.close()


async def test_nobody_there(exporter, memory):
    source = over(exporter, memory, url="http://127.0.0.1:1/metrics")
    with pytest.raises(UnavailableError, match=r"cannot get http://127\.0\.0\.1:1/metrics"):
        await source.open()
    await source.close()


async def test_an_agent_that_starts_again_takes_no_history_for_a_cure(exporter, make_memory, follow):
    source = over(exporter, make_memory())
    await source.open()
    following = follow(source)
    exporter.body = page({"XID_ERRORS": 48})
    await following.until(bool)
    following.task.cancel()
    await source.close()
    again = over(exporter, make_memory())
    await again.open()
    assert [fault.id for fault in await again.read()] == ["gpu0:xid48"]
    await again.close()
    booted = over(exporter, make_memory("boot-2"))
    await booted.open()
    assert await booted.read() == ()
    await booted.close()
