#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "et_schema/formats/collective_rows/collective_rows.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::calibrator {

using et_schema::CollectiveCall;
using et_schema::CollectiveRow;

struct CollectiveLimits {
  std::int64_t least_bytes = 4;
  std::int64_t most_bytes = std::int64_t{1} << 30U;
  double budget_s = 60;
};

/// Returns a call without bytes for each kind that communicates, in groups of 2, 4, 8 … and all
/// ranks. Element types other than float32 are measured with all_reduce only. `hosts` has the host
/// of each rank.
[[nodiscard]] std::vector<CollectiveCall> collective_areas(const std::vector<std::string>& hosts,
                                                           bool on_device);

/// Returns the sizes to measure of each kind, coarse ones first: in steps of 64, then those between
/// in steps of 8, and of 2.
[[nodiscard]] std::vector<std::int64_t> collective_sizes(const CollectiveLimits& limits);

/// The communicator that moves the bytes, and the device of the memory.
struct CollectiveRoute {
  backends::Communicator& communicator;
  c10::Device device{c10::kCPU};
};

/// Returns the most bytes that a call may move: on each rank, inputs and outputs together take at
/// most half of the free memory. The same on all ranks.
[[nodiscard]] std::int64_t fitting_bytes(backends::Job& job, c10::Device device);

/// Reports progress: sizes so far, the current measurement, seconds left.
using CollectiveProgress = std::function<void(std::size_t, const std::string&, double)>;

/// Measures all areas that the route supports on all ranks of the job. All ranks must call it
/// together; each receives all rows, without those of receives (add_receives()). A time is from a
/// barrier until the last rank has ended. Small sizes of all areas come first. On a device, a call
/// ends when its stream has completed it. Measuring ends when the budget is spent, or if
/// `is_interrupted` is true on any rank.
[[nodiscard]] std::vector<CollectiveRow> measure_collectives(
    backends::Job& job, CollectiveRoute route, const CollectiveLimits& limits,
    const std::function<bool()>& is_interrupted, const CollectiveProgress& progress);

}  // namespace understudy::calibrator
