#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

/// A call of an operator whose results are asked for. Tensors among the inputs tell sizes, strides,
/// dtype and device; their ids and offsets mean nothing.
struct AskedCall {
  std::string_view schema;  ///< whole: "aten::add.Tensor(Tensor self, …) -> Tensor"
  /// One for each argument of the schema, kNone for an absent one.
  std::span<const et_schema::Value> inputs;
};

/// A tensor that a call results in.
struct ResultTensor {
  et_schema::DType dtype = et_schema::DType::kUndefined;  ///< kUndefined: an undefined tensor
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements
  /// Which tensor among the inputs has the storage, counted as for_each_tensor() does; -1: none,
  /// it is new.
  int storage_of = -1;
  int same_as = -1;              ///< the input that it is itself (in-place); -1: none
  std::int64_t offset_from = 0;  ///< storage offset minus that input's, in elements; of a new
                                 ///< storage the offset itself
  bool operator==(const ResultTensor&) const = default;
};

/// What a call results in.
struct CallResults {
  /// Lists one behind the other; results that are no tensors are left out.
  std::vector<ResultTensor> tensors;
  std::vector<int> list_sizes;  ///< of each result that is a list of tensors, in order
  std::string why_not;          ///< why the results are not known: then `tensors` is empty
  bool operator==(const CallResults&) const = default;
};

/// Answers calls, each at its place.
using AskResults = std::function<std::vector<CallResults>(std::span<const AskedCall>)>;

}  // namespace understudy::generator
