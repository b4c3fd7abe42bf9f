#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "replayer/counters/source.h"

namespace understudy::replayer {

/// Opens the counters of an NVIDIA GPU, by the Range Profiler of CUPTI: exact counts of a range,
/// whose work runs as often as its counters need passes. Each range waits for the device at its
/// begin and its end. Throws Error (failed) if CUPTI is missing or refuses; its summary is a line
/// that says what to do.
[[nodiscard]] std::unique_ptr<CounterSource> open_cupti(c10::Device device);

}  // namespace understudy::replayer
