"""The metrics page of a DCGM exporter: what it says of each GPU, and what that means. Pure.

`DCGM_FI_DEV_XID_ERRORS` is the number of the *last* XID, for ever: it stays when all is well again, and the same XID
twice cannot be told from once. So an XID is what is new from one page to the next. What the first page shows is
history, unless `DCGM_EXP_XID_ERRORS_COUNT`, which counts XIDs of the last minutes, says that it is not. Where a site
exports that one, an XID that another has hidden since is seen as well.

That the exporter forgot an XID, because it was started anew, says nothing about the GPU. A GPU that is missing from a
page may be a hiccup; missing from three in a row, it is gone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from ringlight.agents.gpu.ledger import GpuReading, Ledger
from ringlight.agents.gpu.metrics import GpuMeasured
from ringlight.agents.gpu.recovery import UNKNOWN, action_of

_ABSENT_PAGES = 3
_BLANK = 0x7FFFFFF0  # DCGM writes this and larger numbers for what it does not know

_XID = "DCGM_FI_DEV_XID_ERRORS"
_XID_COUNT = "DCGM_EXP_XID_ERRORS_COUNT"
_ACTIONS = ("DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "DCGM_FI_DEV_GPU_RECOVERY_ACTION")
_REMAP_PENDING = "DCGM_FI_DEV_ROW_REMAP_PENDING"
_REMAP_FAILED = "DCGM_FI_DEV_ROW_REMAP_FAILURE"
_CORRECTABLE = "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"
_UNCORRECTABLE = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"
_TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"


@dataclass(slots=True)
class PageGpu:
    """One GPU on a page.

    Attributes:
        values: by name of the metric; of several for one GPU, which are of its parts, the largest.
        last_xids: the last XID of the GPU, or of each of its parts; None when the page does not say.
        counts: of XIDs lately, by number.
    """

    values: dict[str, float] = field(default_factory=dict)
    last_xids: frozenset[int] | None = None
    counts: dict[int, float] = field(default_factory=dict)

    def value(self, *names: str) -> float | None:
        """The first of these metrics that the page has."""
        return next((self.values[name] for name in names if name in self.values), None)


def read_page(text: str) -> dict[int, PageGpu]:
    """Every GPU of a page, by the exporter's number.

    Raises:
        ValueError: it is not a metrics page.
    """
    gpus: dict[int, PageGpu] = {}
    for family in text_string_to_metric_families(text):
        if not family.name.startswith("DCGM_"):
            continue
        for sample in family.samples:
            number = sample.labels.get("gpu", "")
            # Nothing of what is read here is fractional but temperatures, and NaN compares as false.
            if number.isdecimal() and 0 <= sample.value < _BLANK:
                _add(gpus.setdefault(int(number), PageGpu()), sample.name, sample.labels.get("xid", ""), sample.value)
    return gpus


def _add(gpu: PageGpu, name: str, xid: str, value: float) -> None:
    if name == _XID:
        seen = frozenset({int(value)}) if value else frozenset()
        gpu.last_xids = seen if gpu.last_xids is None else gpu.last_xids | seen
    elif name == _XID_COUNT:
        if xid.isdecimal():
            gpu.counts[int(xid)] = gpu.counts.get(int(xid), 0.0) + value
    else:
        gpu.values[name] = max(value, gpu.values.get(name, value))


class PageWatch:
    """The GPUs of one node, from page to page.

    Args:
        devices: the exporter's numbers of the node's GPUs, in order.
        settled: seconds for which the driver must say that nothing needs to be done until an XID is over.

    Attributes:
        ledger: what is wrong with them.
        xids: how many were seen, by GPU.
        measured: what the last page measured.
    """

    def __init__(self, devices: Sequence[int], settled: float) -> None:
        self.ledger = Ledger(settled)
        self.xids: Counter[int] = Counter()
        self.measured: dict[int, GpuMeasured] = {}
        self._devices = tuple(devices)
        self._absent: Counter[int] = Counter()
        self._last: dict[int, PageGpu] = {}

    def take(self, page: Mapping[int, PageGpu], now: float) -> None:
        """Take over a page.

        Raises:
            ValueError: it says nothing of any of these GPUs.
        """
        if not page.keys() & set(self._devices):
            raise ValueError(f"there is nothing about the GPUs {', '.join(map(str, self._devices))}")
        readings: dict[int, GpuReading] = {}
        for number, device in enumerate(self._devices):
            gpu = page.get(device)
            if gpu is not None:
                self._absent[number] = 0
                self._note_xids(number, gpu, now)
                readings[number] = _reading(gpu)
                self.measured[number] = _measured(gpu)
                continue
            self._absent[number] += 1
            if self._absent[number] >= _ABSENT_PAGES:
                text = f"the GPU is gone: the exporter has not named its GPU {device} for {_ABSENT_PAGES} pages"
                readings[number] = GpuReading(gone=text)
                self.measured[number] = GpuMeasured(present=False)
        self.ledger.look(readings, now)

    def _note_xids(self, number: int, gpu: PageGpu, now: float) -> None:
        """What is new since the last page."""
        before = self._last.get(number)
        counts = {} if before is None else before.counts
        new = {xid for xid, count in gpu.counts.items() if xid and count > counts.get(xid, 0.0)}
        if before is not None and gpu.last_xids is not None and before.last_xids is not None:
            new |= gpu.last_xids - before.last_xids
        for xid in sorted(new):
            self.ledger.xid(number, xid, now)
            self.xids[number] += 1
        known = gpu.last_xids if gpu.last_xids is not None or before is None else before.last_xids
        self._last[number] = PageGpu(last_xids=known, counts=gpu.counts)


def _reading(gpu: PageGpu) -> GpuReading:
    action = gpu.value(*_ACTIONS)
    pending, failed = gpu.value(_REMAP_PENDING), gpu.value(_REMAP_FAILED)
    return GpuReading(
        action=UNKNOWN if action is None else action_of(int(action)),
        remap_pending=None if pending is None else bool(pending),
        remap_failed=None if failed is None else bool(failed),
    )


def _measured(gpu: PageGpu) -> GpuMeasured:
    reading = _reading(gpu)
    return GpuMeasured(
        present=True,
        temperature=gpu.value(_TEMPERATURE),
        remapped_correctable=gpu.value(_CORRECTABLE),
        remapped_uncorrectable=gpu.value(_UNCORRECTABLE),
        remap_pending=reading.remap_pending,
        remap_failed=reading.remap_failed,
    )
