# ruff: noqa: N802, N815  # the binding prescribes the names
"""A stand-in for NVIDIA's binding: the machine that it tells of is changed by the test, also while a call waits."""

import ctypes
import threading
from types import SimpleNamespace

_OFFSET = 4096  # handles are pointers, and none of them is null


class FakeNvmlError(Exception):
    """Carries a code, as the binding's does."""

    def __init__(self, value):
        super().__init__(f"code {value}")
        self.value = value


class FakeGpu:
    """One GPU of the machine."""

    def __init__(self, number):
        self.address = f"00000000:{16 + number:02x}:00.0"
        self.handle_error = None  # code that asking for its handle gives
        self.error = None  # code that every other question gives
        self.action = 0  # None: the driver knows no such field
        self.rows = (0, 0, 0, 0)
        self.temperature = 40 + number
        self.events = 0x8


class FakeNvml:
    """The module ``pynvml``, as far as an agent uses it; codes and numbers are those of NVIDIA's public header."""

    NVMLError = FakeNvmlError
    NVML_SUCCESS = 0
    NVML_ERROR_UNINITIALIZED = 1
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NO_PERMISSION = 4
    NVML_ERROR_NOT_FOUND = 6
    NVML_ERROR_DRIVER_NOT_LOADED = 9
    NVML_ERROR_TIMEOUT = 10
    NVML_ERROR_LIBRARY_NOT_FOUND = 12
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_ERROR_RESET_REQUIRED = 16
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
    NVML_ERROR_GPU_NOT_FOUND = 28
    NVML_ERROR_UNKNOWN = 999
    NVML_TEMPERATURE_GPU = 0
    NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230
    NVML_GPU_RECOVERY_ACTION_NONE = 0
    NVML_GPU_RECOVERY_ACTION_GPU_RESET = 1
    NVML_GPU_RECOVERY_ACTION_NODE_REBOOT = 2
    NVML_GPU_RECOVERY_ACTION_BUS_RESET = 6
    nvmlEventTypeXidCriticalError = 0x8
    nvmlEventTypeGpuRecoveryAction = 0x8000

    def __init__(self, gpus):
        self.gpus = [FakeGpu(number) for number in range(gpus)]
        self.count = gpus
        self.init_error = None
        self.wait_error = None
        self.started = 0
        self.sets = 0  # event sets that exist
        self.registered = []
        self.may_return = threading.Event()  # calls hang while it is not set
        self.may_return.set()
        self.calls_hanging = 0
        self._news = []
        self._arrived = threading.Condition()

    def report(self, number, xid, kind=0x8):
        """A GPU reports an event."""
        with self._arrived:
            self._news.append(
                SimpleNamespace(device=self._pointer(number), eventType=kind, eventData=xid, gpuInstanceId=0xFFFFFFFF)
            )
            self._arrived.notify_all()

    def break_waiting(self, code):
        """The next wait for events ends with an error."""
        with self._arrived:
            self.wait_error = code
            self._arrived.notify_all()

    def _pointer(self, number):
        return ctypes.c_void_p(_OFFSET + number)

    def _enter(self):
        self.may_return.wait()

    def _gpu(self, handle):
        self._enter()
        gpu = self.gpus[handle.value - _OFFSET]
        if gpu.error is not None:
            raise FakeNvmlError(gpu.error)
        return gpu

    def nvmlInit(self):
        self._enter()
        if self.init_error is not None:
            raise FakeNvmlError(self.init_error)
        self.started += 1

    def nvmlShutdown(self):
        self._enter()
        self.started -= 1

    def nvmlDeviceGetCount(self):
        self._enter()
        if not self.started:
            raise FakeNvmlError(self.NVML_ERROR_UNINITIALIZED)
        return self.count

    def nvmlDeviceGetHandleByIndex(self, number):
        self._enter()
        if self.gpus[number].handle_error is not None:
            raise FakeNvmlError(self.gpus[number].handle_error)
        return self._pointer(number)

    def nvmlDeviceGetHandleByPciBusId(self, address):
        for number, gpu in enumerate(self.gpus):
            if gpu.address.endswith(address):
                return self.nvmlDeviceGetHandleByIndex(number)
        raise FakeNvmlError(self.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetFieldValues(self, handle, fields):
        assert list(fields) == [230]
        action = self._gpu(handle).action
        missing = action is None
        value = SimpleNamespace(uiVal=0 if missing else action)
        return [SimpleNamespace(nvmlReturn=self.NVML_ERROR_NOT_SUPPORTED if missing else 0, value=value)]

    def nvmlDeviceGetRemappedRows(self, handle):
        rows = self._gpu(handle).rows
        if rows is None:
            raise FakeNvmlError(self.NVML_ERROR_NOT_SUPPORTED)
        return rows

    def nvmlDeviceGetTemperature(self, handle, sensor):
        assert sensor == self.NVML_TEMPERATURE_GPU
        return self._gpu(handle).temperature

    def nvmlDeviceGetSupportedEventTypes(self, handle):
        return self._gpu(handle).events

    def nvmlEventSetCreate(self):
        self.sets += 1
        self.registered = []
        return object()

    def nvmlDeviceRegisterEvents(self, handle, events, _set):
        self._gpu(handle)
        assert events == 0x8
        self.registered.append(handle.value - _OFFSET)

    def nvmlEventSetFree(self, _set):
        self.sets -= 1

    def nvmlEventSetWait_v2(self, _set, milliseconds):
        self._enter()
        with self._arrived:
            self._arrived.wait_for(lambda: self._news or self.wait_error is not None, milliseconds / 1000)
            if self.wait_error is not None:
                error, self.wait_error = self.wait_error, None
                raise FakeNvmlError(error)
            if not self._news:
                raise FakeNvmlError(self.NVML_ERROR_TIMEOUT)
            return self._news.pop(0)
