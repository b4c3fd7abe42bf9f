#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "replayer/calibrator/measure/collectives.h"

namespace understudy::calibrator {

/// Memory that calls read and write, grown on demand. It is touched first, so that no call causes
/// page faults.
class CallMemory {
 public:
  explicit CallMemory(c10::Device device) : device_(device) {}

  [[nodiscard]] backends::Buffer part(std::int64_t begin, std::int64_t count,
                                      et_schema::DType dtype);
  void grow(std::int64_t bytes);

 private:
  c10::Device device_;
  at::Tensor bytes_;
};

/// Where a call's results are written. In place, as in nccl-tests, its inputs are part of its
/// outputs' memory or vice versa.
enum class CallPlace : std::uint8_t { kOutOfPlace, kInPlace };

/// Makes calls of a kind and a size, which share memory.
class CallMaker {
 public:
  explicit CallMaker(c10::Device device) : device_(device), inputs_(device), outputs_(device) {}

  /// Returns a group's rank's part in a call, whose elements must be a multiple of the ranks. Its
  /// root is rank 0; a message goes from rank 0 to rank 1. Calls in place are those of
  /// all_reduce's, broadcast's, reduce's, all_gather_base's or reduce_scatter_base's form;
  /// calibrations have pairs in place.
  [[nodiscard]] backends::Call make(const CollectiveCall& collective, backends::GroupId group,
                                    int rank, CallPlace place);

 private:
  c10::Device device_;
  CallMemory inputs_;
  CallMemory outputs_;
};

/// Returns true if nccl-tests runs the kind in place.
[[nodiscard]] bool has_in_place(et_schema::CommKind kind);

/// Runs a call `times` times, each after a barrier of all ranks. Returns the time of each call on
/// this rank; empty if the rank takes no part.
[[nodiscard]] std::vector<double> time_apart_ns(backends::Job& job, CollectiveRoute route,
                                                const backends::Call& call, bool takes_part,
                                                std::size_t times);
/// Runs the calls without barriers between them. Returns the mean time of a call; 0 if this rank
/// takes no part.
[[nodiscard]] double time_together_ns(backends::Job& job, CollectiveRoute route,
                                      const backends::Call& call, bool takes_part,
                                      std::size_t times);

/// Fills the inputs of a float32 call, so that each element of the result depends on ranks and
/// positions. Sums over up to 16,384 ranks are exact.
void fill_inputs(const backends::Call& call, int rank, c10::Device device);
/// Returns the number of wrong elements in the rank's results, after the call ran once on the
/// inputs of fill_inputs(), with sums as reductions.
[[nodiscard]] std::int64_t count_wrong(const backends::Call& call, const CollectiveCall& collective,
                                       int rank, c10::Device device);

}  // namespace understudy::calibrator
