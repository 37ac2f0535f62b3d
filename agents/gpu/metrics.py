"""What the agent's metrics page says of GPUs, whichever source tells it."""

from collections.abc import Iterator
from dataclasses import dataclass

from ringlight.agents.ports import Measurement, MetricFamily

PRESENT = "ringlight_gpu_present"
TEMPERATURE = "ringlight_gpu_temperature_celsius"
REMAPPED_ROWS = "ringlight_gpu_remapped_rows"
REMAP_PENDING = "ringlight_gpu_row_remap_pending"
REMAP_FAILED = "ringlight_gpu_row_remap_failed"
XIDS = "ringlight_gpu_xids_total"
HANGING = "ringlight_gpu_hanging_calls"

FAMILIES: tuple[MetricFamily, ...] = (
    MetricFamily(PRESENT, "gauge", "1 while the GPU answers, 0 when it is gone.", ("gpu",)),
    MetricFamily(TEMPERATURE, "gauge", "Temperature of the GPU.", ("gpu",)),
    MetricFamily(
        REMAPPED_ROWS, "gauge", "Rows of the GPU's memory that were replaced, by what was wrong.", ("gpu", "error")
    ),
    MetricFamily(REMAP_PENDING, "gauge", "1 while rows wait for a reset to be replaced.", ("gpu",)),
    MetricFamily(REMAP_FAILED, "gauge", "1 when a row could not be replaced.", ("gpu",)),
    MetricFamily(XIDS, "counter", "XIDs that the GPU reported since the agent started.", ("gpu",)),
    MetricFamily(HANGING, "gauge", "Calls into the GPU's library, of this agent, that never returned.", ()),
)


@dataclass(frozen=True, slots=True)
class GpuMeasured:
    """What was measured of one GPU; None where its source does not tell."""

    present: bool
    temperature: float | None = None
    remapped_correctable: float | None = None
    remapped_uncorrectable: float | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None


def measured(number: int, gpu: GpuMeasured) -> Iterator[Measurement]:
    """A GPU for the metrics page."""
    labels = {"gpu": str(number)}
    yield Measurement(PRESENT, labels, float(gpu.present))
    for family, value in (
        (TEMPERATURE, gpu.temperature),
        (REMAP_PENDING, gpu.remap_pending),
        (REMAP_FAILED, gpu.remap_failed),
    ):
        if value is not None:
            yield Measurement(family, labels, float(value))
    for error, rows in (("correctable", gpu.remapped_correctable), ("uncorrectable", gpu.remapped_uncorrectable)):
        if rows is not None:
            yield Measurement(REMAPPED_ROWS, {**labels, "error": error}, float(rows))
