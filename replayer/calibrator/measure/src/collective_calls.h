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

/// Makes calls of a kind and a size, which share memory.
class CallMaker {
 public:
  explicit CallMaker(c10::Device device) : device_(device), inputs_(device), outputs_(device) {}

  /// Returns a group's rank's part in a call, whose elements must be a multiple of the ranks. Its
  /// root is rank 0; a message goes from rank 0 to rank 1. Kinds with pairs of input and output
  /// (all_reduce, broadcast, reduce) are in place, as in training.
  [[nodiscard]] backends::Call make(const CollectiveCall& collective, backends::GroupId group,
                                    int rank);

 private:
  c10::Device device_;
  CallMemory inputs_;
  CallMemory outputs_;
};

/// Runs a call `times` times, each after a barrier of all ranks. Returns the time of each call on
/// this rank; empty if the rank takes no part.
[[nodiscard]] std::vector<double> time_apart_ns(backends::Job& job, CollectiveRoute route,
                                                const backends::Call& call, bool takes_part,
                                                std::size_t times);

}  // namespace understudy::calibrator
