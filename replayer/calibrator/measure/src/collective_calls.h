#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "replayer/calibrator/measure/collectives.h"

namespace understudy::calibrator {

/// Memory that calls read and write, grown as they need it; touched, so that no call meets pages
/// that the system has not handed out.
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

/// Whether a call's inputs are part of the memory of its outputs, or the other way round, as
/// nccl-tests has it.
enum class CallPlace : std::uint8_t { kOutOfPlace, kInPlace };

/// Makes calls of a kind and a size, in memory that they share.
class CallMaker {
 public:
  explicit CallMaker(c10::Device device) : device_(device), inputs_(device), outputs_(device) {}

  /// The call of a group's rank: `whole` elements, a multiple of the ranks. Its root is rank 0; a
  /// message goes from rank 0 to rank 1. In place, where the kind is in all_reduce's, broadcast's,
  /// reduce's, all_gather_base's or reduce_scatter_base's way; calibrations have pairs in place.
  [[nodiscard]] backends::Call make(const CollectiveArea& area, backends::GroupId group, int rank,
                                    std::int64_t whole, CallPlace place = CallPlace::kOutOfPlace);

 private:
  c10::Device device_;
  CallMemory inputs_;
  CallMemory outputs_;
};

/// Whether nccl-tests knows the kind in place.
[[nodiscard]] bool has_in_place(et_schema::CommKind kind);

/// Runs a call so often, each time behind a barrier of all ranks; how long each took on this rank,
/// none where it takes no part.
[[nodiscard]] std::vector<double> time_apart_ns(backends::Job& job, CollectiveRoute route,
                                                const backends::Call& call, bool takes_part,
                                                std::size_t times);
/// The same one behind the other: the mean of one; 0 where it takes no part.
[[nodiscard]] double time_together_ns(backends::Job& job, CollectiveRoute route,
                                      const backends::Call& call, bool takes_part,
                                      std::size_t times);

/// Fills what a rank sends in a call of float32, so that each element of the result tells of ranks
/// and places; sums of 16,384 ranks are exact.
void fill_inputs(const backends::Call& call, const CollectiveArea& area, int rank,
                 c10::Device device);
/// Elements of the rank's results that are not what the inputs of all ranks make them, after the
/// call was run once on fill_inputs(), with sums as reductions.
[[nodiscard]] std::int64_t count_wrong(const backends::Call& call, const CollectiveArea& area,
                                       int rank, c10::Device device);

}  // namespace understudy::calibrator
