#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/tensor_layout.h"

namespace understudy::et_schema {

/// A call of an operator with the layouts of its tensors.
struct OperatorCall {
  std::string name;                  ///< "aten::linear"
  std::string overload;              ///< "Tensor"; empty: the default overload
  std::vector<TensorLayout> inputs;  ///< in the order of arguments, lists flattened
  std::vector<TensorLayout> outputs;
  /// Attention alone: each query meets all keys, because the call says that it is not causal.
  bool is_full = false;
  bool operator==(const OperatorCall&) const = default;
};

/// Returns the name with its overload: "aten::add.Tensor".
[[nodiscard]] std::string full_name(const OperatorCall& call);
/// Returns a call with a name such as "aten::add.Tensor" and no tensors.
[[nodiscard]] OperatorCall call_named(std::string_view full_name);
/// Returns the call of an instruction.
[[nodiscard]] OperatorCall operator_call(const Program& program, const Instruction& instruction);
/// Returns the tensors of arguments or results.
[[nodiscard]] std::vector<TensorLayout> layouts_of(const Program& program,
                                                   const std::vector<Argument>& arguments);

}  // namespace understudy::et_schema
