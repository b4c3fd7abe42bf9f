#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/call_results/call_results.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

/// A call of an operator whose results are asked for. Tensors among the inputs tell sizes, strides,
/// dtype and device; their ids and offsets mean nothing.
struct AskedCall {
  std::string_view schema;  ///< whole: "aten::add.Tensor(Tensor self, …) -> Tensor"
  /// One for each argument of the schema, kNone for an absent one.
  std::span<const et_schema::Value> inputs;
};

using et_schema::CallResults;
using et_schema::ResultTensor;

/// Answers calls, each at its place.
using AskResults = std::function<std::vector<CallResults>(std::span<const AskedCall>)>;

}  // namespace understudy::generator
