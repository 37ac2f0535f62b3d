"""NVIDIA's management library as an agent uses it: calls that block, and may hang, made by `nvml` in a thread.

The binding is a parameter: it is optional, and imported only when GPUs are watched with it. What the library says about
one GPU is a reading of that GPU; what it says about itself (no driver, not allowed) ends everything.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ringlight.agents.gpu import recovery
from ringlight.agents.gpu.ledger import GpuReading
from ringlight.agents.gpu.metrics import GpuMeasured
from ringlight.fabric.errors import UnavailableError

# Errors that say nothing about a GPU: the library cannot be used as it is.
_OF_THE_LIBRARY = (
    "NVML_ERROR_UNINITIALIZED",
    "NVML_ERROR_NO_PERMISSION",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_LIBRARY_NOT_FOUND",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
)
_GONE = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_GPU_NOT_FOUND", "NVML_ERROR_NOT_FOUND")
_RESET_REQUIRED = "NVML_ERROR_RESET_REQUIRED"
_EVENTS = ("nvmlEventTypeXidCriticalError", "nvmlEventTypeGpuUnavailableError", "nvmlEventTypeGpuRecoveryAction")
_ACTIONS = {
    "NVML_GPU_RECOVERY_ACTION_NONE": recovery.NONE,
    "NVML_GPU_RECOVERY_ACTION_GPU_RESET": "gpu-reset",
    "NVML_GPU_RECOVERY_ACTION_NODE_REBOOT": "node-reboot",
    "NVML_GPU_RECOVERY_ACTION_DRAIN_P2P": "drain-p2p",
    "NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET": "drain-and-reset",
    "NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN": "recover-imex-domain",
    "NVML_GPU_RECOVERY_ACTION_BUS_RESET": "gpu-reset-bus",
    "NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT": "node-reboot",
}


@dataclass(frozen=True, slots=True)
class Looked:
    """All GPUs of a node, read one after another.

    Attributes:
        missing: why GPUs are missing of which nobody can tell which they are.
    """

    readings: dict[int, GpuReading]
    measured: dict[int, GpuMeasured]
    missing: str


@dataclass(frozen=True, slots=True)
class Waited:
    """What came of waiting for events.

    Attributes:
        could_wait: whether time was spent waiting; if not, whoever asked must see to that.
        xids: GPU and number of each that came.
        something: whether the GPUs should be looked at.
    """

    could_wait: bool
    xids: tuple[tuple[int, int], ...] = ()
    something: bool = False


class TroubleError(Exception):
    """A GPU does not answer the library as it should.

    Attributes:
        reading: what that says about it.
    """

    def __init__(self, reading: GpuReading) -> None:
        super().__init__(reading)
        self.reading = reading


class NvmlCalls:
    """One use of the library, from `start` to `stop`, by one thread at a time.

    Args:
        nvml: the binding.
        expected: GPUs that the node should have.
        devices: their PCI addresses in order; without them, the node has all GPUs of the machine, as NVML counts them.
    """

    def __init__(self, nvml: ModuleType, expected: int, devices: Sequence[str]) -> None:
        self._nvml: Any = nvml
        self._expected = expected
        self._devices = tuple(devices)
        self._handles: dict[int, Any] = {}
        self._events: Any = None
        self._heard: set[int] = set()  # GPUs that were there when events were asked for
        self._started = False

    def start(self) -> None:
        """Load the library.

        Raises:
            UnavailableError: there is none, or no driver, or more GPUs than can be told apart.
        """
        self._ask(self._nvml.nvmlInit)
        self._started = True
        count = self._ask(self._nvml.nvmlDeviceGetCount)
        if not self._devices and count > self._expected:
            text = f"this machine has {count} GPUs, and the fabric file says {self._expected}"
            raise UnavailableError(text, hint="name those of the node: `gpus: {nvml: {devices: [...]}}`")

    def stop(self) -> None:
        """Let go of the library, which does not happen before it was started."""
        if not self._started:
            return
        self._started = False
        self._forget_events()
        self._ask(self._nvml.nvmlShutdown)

    def look(self) -> Looked:
        """Read every GPU.

        Raises:
            UnavailableError: the library cannot be used any more.
        """
        readings: dict[int, GpuReading] = {}
        measured: dict[int, GpuMeasured] = {}
        count = self._expected if self._devices else self._ask(self._nvml.nvmlDeviceGetCount)
        for number in range(min(count, self._expected)):
            try:
                readings[number], measured[number] = self._look_at(self._handle(number))
            except TroubleError as error:
                self._handles.pop(number, None)
                readings[number] = error.reading
                measured[number] = GpuMeasured(present=not error.reading.gone)
        if self._handles.keys() != self._heard:  # a GPU went or came back: listen to all that are there
            self._forget_events()
        missing = "" if count >= self._expected else f"{count} of {self._expected} GPUs are there"
        return Looked(readings, measured, missing)

    def _handle(self, number: int) -> Any:
        """The handle of a GPU; the library's are good for as long as the GPU is."""
        if number not in self._handles:
            if self._devices:
                found = self._gpu(self._nvml.nvmlDeviceGetHandleByPciBusId, self._devices[number])
            else:
                found = self._gpu(self._nvml.nvmlDeviceGetHandleByIndex, number)
            self._handles[number] = found
        return self._handles[number]

    def _look_at(self, handle: Any) -> tuple[GpuReading, GpuMeasured]:
        nvml = self._nvml
        rows = self._known(nvml.nvmlDeviceGetRemappedRows, handle)
        correctable, uncorrectable, pending, failed = (None,) * 4 if rows is None else rows
        reading = GpuReading(
            action=self._action(handle),
            remap_pending=None if pending is None else bool(pending),
            remap_failed=None if failed is None else bool(failed),
        )
        temperature = self._known(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU)
        return reading, GpuMeasured(
            present=True,
            temperature=temperature,
            remapped_correctable=correctable,
            remapped_uncorrectable=uncorrectable,
            remap_pending=reading.remap_pending,
            remap_failed=reading.remap_failed,
        )

    def _action(self, handle: Any) -> str:
        """What the driver wants done; unknown to drivers before r570, and to bindings of their time."""
        field = getattr(self._nvml, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", None)
        values = None if field is None else self._known(self._nvml.nvmlDeviceGetFieldValues, handle, [field])
        if not values or values[0].nvmlReturn != self._nvml.NVML_SUCCESS:
            return recovery.UNKNOWN
        number = int(values[0].value.uiVal)  # its type is unsigned int; larger ones begin with the same bytes
        words = {getattr(self._nvml, name, None): word for name, word in _ACTIONS.items()}
        return words.get(number, recovery.action_of(number))

    def wait(self, seconds: float) -> Waited:
        """Wait for events of the GPUs, no longer than this.

        Raises:
            UnavailableError: the library cannot be used any more.
        """
        if self._events is None and not self._listen():
            return Waited(could_wait=False)
        try:
            data = self._nvml.nvmlEventSetWait_v2(self._events, int(1000 * seconds))
        except self._nvml.NVMLError as error:
            if error.value == self._nvml.NVML_ERROR_TIMEOUT:
                return Waited(could_wait=True)
            self._raise_if_of_the_library(error)
            self._forget_events()  # a GPU of the set is gone: without it, others are heard again
            return Waited(could_wait=False, something=True)
        number = self._number(data.device)
        is_xid = data.eventType == self._nvml.nvmlEventTypeXidCriticalError
        xids = ((number, int(data.eventData)),) if is_xid and number is not None else ()
        return Waited(could_wait=True, xids=xids, something=True)

    def _listen(self) -> bool:
        """Listen to every GPU that can tell of anything; whether there is one."""
        self._events = self._tried(self._nvml.nvmlEventSetCreate)
        if self._events is None:
            return False
        self._heard = set(self._handles)
        wanted = 0
        for name in _EVENTS:
            wanted |= getattr(self._nvml, name, 0)
        heard = [handle for handle in self._handles.values() if self._register(handle, wanted)]
        if not heard:
            self._forget_events()
        return bool(heard)

    def _register(self, handle: Any, wanted: int) -> bool:
        supported = self._tried(self._nvml.nvmlDeviceGetSupportedEventTypes, handle) or 0
        return bool(supported & wanted) and self._tried(self._registered, handle, supported & wanted) is not None

    def _registered(self, handle: Any, events: int) -> bool:
        self._nvml.nvmlDeviceRegisterEvents(handle, events, self._events)
        return True

    def _forget_events(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            self._tried(self._nvml.nvmlEventSetFree, events)

    def _number(self, handle: Any) -> int | None:
        """Which GPU an event is about, by its handle: one that is gone answers no questions about itself."""
        address = _address(handle)
        return next((number for number, known in self._handles.items() if _address(known) == address), None)

    # -- what errors mean ---------------------------------------------------------------------------------------------

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A call that is about no GPU."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            raise _unusable(error) from error

    def _gpu(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A call without which nothing is known about a GPU: whatever error it gives, the GPU does not answer."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            self._raise_if_of_the_library(error)
            raise self._trouble(error) from error

    def _known(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A call about a GPU that not every GPU, driver or binding can answer; None if this one cannot."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            self._raise_if_of_the_library(error)
            if error.value in self._codes((*_GONE, _RESET_REQUIRED)):
                raise self._trouble(error) from error
            return None

    def _tried(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A call that may fail, whatever that says about a GPU: the next look will tell. None if it does."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            self._raise_if_of_the_library(error)
            return None

    def _trouble(self, error: Any) -> TroubleError:
        if error.value in self._codes((_RESET_REQUIRED,)):
            return TroubleError(GpuReading(action="gpu-reset"))
        return TroubleError(GpuReading(gone=f"the GPU is gone: NVML says {error}"))

    def _raise_if_of_the_library(self, error: Any) -> None:
        if error.value in self._codes(_OF_THE_LIBRARY):
            raise _unusable(error) from error

    def _codes(self, names: Sequence[str]) -> set[int]:
        return {getattr(self._nvml, name) for name in names if hasattr(self._nvml, name)}


def _unusable(error: Exception) -> UnavailableError:
    hint = "is there an NVIDIA GPU here, and does `nvidia-smi` work? without one, say `gpus: none`"
    return UnavailableError(f"NVML cannot be used: {error}", hint=hint)


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value
