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

/// Opens the same GPU's PM sampling: all that is counted in one pass, of the whole GPU, in equal
/// intervals of time. Its "ranges" are the samples of the range that ran, with their begin "ms",
/// since the first one's, and length "interval_ns". Only one of both sources may be open at a time.
[[nodiscard]] std::unique_ptr<CounterSource> open_cupti_samples(c10::Device device,
                                                                double interval_ns);

}  // namespace understudy::replayer
