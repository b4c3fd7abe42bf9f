"""The functions of the driver's GPU library that a capture needs; UNDERSTUDY_NVML names another
library."""

import ctypes

from .programs import variable

SM, MEMORY = 1, 2  # nvmlClockType_t


class Nvml:
    """Reads the first GPU. Raises OSError if there is no such library, or if a call fails."""

    def __init__(self):
        self._library = ctypes.CDLL(variable("UNDERSTUDY_NVML") or "libnvidia-ml.so.1")
        self._gpu = ctypes.c_void_p()
        check(self._library.nvmlInit_v2(), "nvmlInit_v2")
        check(self._library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self._gpu)),
              "nvmlDeviceGetHandleByIndex_v2")

    def has(self, name):
        return hasattr(self._library, name)

    def driver_version(self):
        text = ctypes.create_string_buffer(81)
        check(self._library.nvmlSystemGetDriverVersion(text, 81), "nvmlSystemGetDriverVersion")
        return text.value.decode()

    def power_limit_w(self):
        return self._number("nvmlDeviceGetEnforcedPowerLimit") / 1e3

    def clock_mhz(self, kind=SM):
        return self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, kind)

    def most_clock_mhz(self, kind=SM):
        return self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, kind)

    def _number(self, name, kind=ctypes.c_uint, *arguments):
        if not self.has(name):
            raise OSError(f"{name}: not in this NVML")
        value = kind()
        check(getattr(self._library, name)(self._gpu, *arguments, ctypes.byref(value)), name)
        return value.value


def check(status, name):
    if status != 0:
        raise OSError(f"{name}: status {status}")
