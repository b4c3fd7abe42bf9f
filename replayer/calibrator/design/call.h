#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/operator_call.h"
#include "et_schema/model/program.h"

namespace understudy::calibrator {

/// A tensor that a call reads or writes, with memory of its own.
struct CallTensor {
  et_schema::Slot layout;  ///< its storage and value rule are not set
  double zeros = 0;        ///< share of the elements that are zero; the others are one
  bool operator==(const CallTensor&) const = default;
};

/// One call of one operator that can be built and timed by itself.
struct Call {
  std::string schema;  ///< the full schema; in a recipe's call only the name, until complete()
  std::vector<CallTensor> tensors;
  std::vector<et_schema::Argument> args;  ///< a SlotRef is an index into `tensors`
  /// Skew of indices: the k-th number of the range has a probability
  /// proportional to k^-skew.
  double index_skew = 0;
  bool operator==(const Call&) const = default;
};

/// Completes a call whose schema is an operator's name: sets the full schema, and the defaults of
/// missing arguments. Returns an empty text, or why there is no such call.
[[nodiscard]] std::string complete(Call& call);
/// Makes a call of which no more than its tensors are known, in the order of its arguments: sizes
/// are those of its first result, other numbers without a default are usual ones. Returns an empty
/// text, or why there is no such call.
[[nodiscard]] std::string make_call(const et_schema::OperatorCall& asked, Call& call);

/// Formats a call: "aten::mm(float32[64,128], float32[128,32]:[1,128])". Numbers are always shown,
/// strides only if they are not contiguous. Calls with equal texts are taken to have equal times.
[[nodiscard]] std::string to_text(const Call& call);

[[nodiscard]] std::int64_t tensor_bytes(const Call& call);

/// Makes a program of these calls on the CPU. Tensors are external, with a benchmark's default
/// rules (docs/values.md). Results are released.
[[nodiscard]] et_schema::Program make_program(const std::vector<Call>& calls);

/// Makes a benchmark of them, of one rank.
[[nodiscard]] et_schema::Bench make_bench(const std::vector<Call>& calls);

/// Adds a tensor with memory of its own to a program on the CPU. Sets its storage.
et_schema::SlotId add_tensor(et_schema::Program& program, et_schema::Slot slot);
/// Adds a call of an operator with this schema.
et_schema::Instruction& add_call(et_schema::Program& program, std::string schema,
                                 std::vector<et_schema::Argument> args);

}  // namespace understudy::calibrator
