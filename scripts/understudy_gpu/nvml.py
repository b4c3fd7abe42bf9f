"""Functions of the driver's library that the checks need but a capture does not."""

import ctypes

from understudy_capture import nvml
from understudy_capture.nvml import check

# Reasons for low clocks that mean a fault of the GPU: slow-down, temperature, power brake.
AILING = {0x8: "hardware slow-down", 0x20: "software thermal", 0x40: "hardware thermal",
          0x80: "power brake"}
POWER_CAP = 0x4
INSTANT_POWER = 186  # NVML_FI_DEV_POWER_INSTANT, in milliwatts
MOST_GPM_METRICS = 333  # no version of NVML has more


class _Field(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency_us", ctypes.c_longlong), ("type", ctypes.c_int), ("status", ctypes.c_int),
                ("value", ctypes.c_ulonglong)]


class _GpmSupport(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("supported", ctypes.c_uint)]


class _GpmMetric(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("status", ctypes.c_int), ("value", ctypes.c_double),
                ("short_name", ctypes.c_char_p), ("long_name", ctypes.c_char_p),
                ("unit", ctypes.c_char_p)]


class _GpmMetrics(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("count", ctypes.c_uint), ("first", ctypes.c_void_p),
                ("second", ctypes.c_void_p), ("metrics", _GpmMetric * MOST_GPM_METRICS)]


class Nvml(nvml.Nvml):
    def energy_j(self):
        return self._number("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong) / 1e3

    def power_w(self):
        """Returns the instantaneous power if the driver reports it; else the mean of about a second, which newer GPUs report."""
        power = self.field_status(INSTANT_POWER)
        return (power if isinstance(power, int) else self._number("nvmlDeviceGetPowerUsage")) / 1e3

    def throttle_bits(self):
        for name in ("nvmlDeviceGetCurrentClocksEventReasons",
                     "nvmlDeviceGetCurrentClocksThrottleReasons"):
            if self.has(name):
                return self._number(name, ctypes.c_ulonglong)
        return 0

    def field_status(self, number):
        """Returns the field's value, or why there is none."""
        if not self.has("nvmlDeviceGetFieldValues"):
            return "no fields"
        field = _Field(id=number)
        status = self._library.nvmlDeviceGetFieldValues(self._gpu, 1, ctypes.byref(field))
        status = status or field.status
        # The value is a union; an unsigned int is in the low 32 bits.
        return f"status {status}" if status else int(field.value & 0xFFFFFFFF)

    def gpm_status(self):
        if not self.has("nvmlGpmQueryDeviceSupport"):
            return "not in this NVML"
        support = _GpmSupport(version=1)
        status = self._library.nvmlGpmQueryDeviceSupport(self._gpu, ctypes.byref(support))
        return f"status {status}" if status else ("supported" if support.supported else "not supported")

    def gpm(self, numbers, work):
        """Returns metric number → mean while work() runs; raises OSError with the status if NVML refuses."""
        samples = [ctypes.c_void_p(), ctypes.c_void_p()]
        library = self._library
        library.nvmlGpmSampleGet.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        for sample in samples:
            check(library.nvmlGpmSampleAlloc(ctypes.byref(sample)), "nvmlGpmSampleAlloc")
        check(library.nvmlGpmSampleGet(self._gpu, samples[0]), "nvmlGpmSampleGet")
        work()
        check(library.nvmlGpmSampleGet(self._gpu, samples[1]), "nvmlGpmSampleGet")
        asked = _GpmMetrics(version=1, count=len(numbers), first=samples[0], second=samples[1])
        for metric, number in zip(asked.metrics, numbers):
            metric.id = number
        check(library.nvmlGpmMetricsGet(ctypes.byref(asked)), "nvmlGpmMetricsGet")
        return {metric.id: metric.value if metric.status == 0 else None
                for metric in asked.metrics[:len(numbers)]}
