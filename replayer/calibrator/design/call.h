#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::calibrator {

/// A tensor that a call reads or writes: a layout with memory of its own.
struct CallTensor {
  et_schema::Slot layout;  ///< with a value rule where one is known; its storage is not set
  double zeros = 0;        ///< share of the elements that are zero, the others are one
  bool operator==(const CallTensor&) const = default;
};

/// One call of one operator that can be built and timed by itself.
struct Call {
  std::string schema;  ///< the whole text; of a recipe's call the name until it is completed
  std::vector<CallTensor> tensors;
  std::vector<et_schema::Argument> args;  ///< a SlotRef is an index into `tensors`
  double index_skew = 0;  ///< of indices of which nothing else is known: the k-th number of the
                          ///< range in proportion to k^-skew
  bool operator==(const Call&) const = default;
};

/// "aten::mm(float32[64,128], float32[128,32]:[1,128])": strides where they are not contiguous,
/// numbers as they are. Calls of equal texts take equal times.
[[nodiscard]] std::string to_text(const Call& call);

/// Bytes of all its tensors.
[[nodiscard]] std::int64_t tensor_bytes(const Call& call);

/// A program of this one call on the CPU. Tensors are external, with the value rules that they came
/// with, else with those that a benchmark gives them (docs/values.md). Results are let go.
[[nodiscard]] et_schema::Program make_program(const Call& call);

}  // namespace understudy::calibrator
