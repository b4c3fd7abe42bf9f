#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::calibrator {

/// Communications of one kind, group size and element type.
struct CollectiveArea {
  et_schema::CommKind kind = et_schema::CommKind::kAllReduce;
  int ranks = 2;
  et_schema::DType dtype = et_schema::DType::kFloat32;
  bool operator==(const CollectiveArea&) const = default;
};

/// One of them as it was measured.
struct CollectiveTime {
  CollectiveArea area;
  std::int64_t bytes = 0;     ///< nccl-tests' size of the call (comm_traits.h, CommBytes)
  et_schema::TimeStats host;  ///< from a barrier to the last rank's end
};

struct CollectiveLimits {
  std::int64_t least_bytes = 4;
  std::int64_t most_bytes = std::int64_t{1} << 30U;
  double budget_s = 60;
  double error = 0.05;  ///< of a size in the middle, against its neighbours: no closer sizes then
};

/// All kinds that move bytes, in groups of 2, 4, 8 … and all ranks; reductions of other element
/// types than float32 as all_reduce.
[[nodiscard]] std::vector<CollectiveArea> collective_areas(int world_size);

/// Which sizes of an area are measured: both ends and steps of 64 between them, then the middle of
/// two neighbours (of the logarithm), as long as it is not what they lead to expect.
class SizeLadder {
 public:
  explicit SizeLadder(const CollectiveLimits& limits);
  /// The next size; 0: known well enough.
  [[nodiscard]] std::int64_t next() const;
  void add(std::int64_t bytes, double ns);
  /// Sizes from here on are not asked for: they take too long, or do not fit into memory.
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
  std::vector<Gap> gaps_;      ///< that may need a size in their middle
};

/// What moves the bytes, and the memory that they lie in.
struct CollectiveRoute {
  backends::Communicator& communicator;
  c10::Device device{c10::kCPU};
};

/// The most that calls may move so that all ranks have the memory: each holds what goes in and what
/// comes out, and half of it stays free. The same on all ranks.
[[nodiscard]] std::int64_t fitting_bytes(backends::Job& job, c10::Device device);

/// What happens meanwhile, for a progress line: sizes so far, what is measured, seconds left.
using CollectiveProgress = std::function<void(std::size_t, const std::string&, double)>;

/// Measures all areas that the route takes on all ranks of the job, which call it together; every
/// rank gets all times. Small sizes of all areas come first. On a device a call ends when its
/// stream has done it. Ends with the budget, or when `is_interrupted` is true on
/// any rank.
[[nodiscard]] std::vector<CollectiveTime> measure_collectives(
    backends::Job& job, CollectiveRoute route, const CollectiveLimits& limits,
    const std::function<bool()>& is_interrupted, const CollectiveProgress& progress);

}  // namespace understudy::calibrator
