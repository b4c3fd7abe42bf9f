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
  /// A gap is not refined if its middle size deviates less than this from the neighbours'
  /// interpolation.
  double error = 0.05;
};

/// Returns a call without bytes for each kind that communicates, in groups of 2, 4, 8 … and all
/// ranks. Element types other than float32 are measured with all_reduce only. `hosts` has the host
/// of each rank.
[[nodiscard]] std::vector<CollectiveCall> collective_areas(const std::vector<std::string>& hosts,
                                                           bool on_device);

/// Chooses the sizes to measure of one kind, group and element type: both ends and steps of 64
/// between them, then the geometric mean of two neighbours, as long as measured times differ from
/// the interpolated ones.
class SizeLadder {
 public:
  explicit SizeLadder(const CollectiveLimits& limits);
  /// Returns the next size; 0 if the area is known well enough.
  [[nodiscard]] std::int64_t next() const;
  void add(std::int64_t bytes, double ns);
  /// Excludes sizes from `bytes` on, which take too long or do not fit into memory.
  void refuse_from(std::int64_t bytes);
  [[nodiscard]] std::size_t size() const { return points_.size(); }

 private:
  struct Point {
    std::int64_t bytes = 0;
    double ns = 0;  ///< 0: not measured yet
  };
  struct Gap {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  [[nodiscard]] const Point* find(std::int64_t bytes) const;

  CollectiveLimits limits_;
  std::vector<Point> points_;  ///< ascending
  std::vector<Gap> gaps_;      ///< gaps whose middle may have to be measured
};

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
