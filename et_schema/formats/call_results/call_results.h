#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"

namespace understudy::et_schema {

/// A tensor that a call results in.
struct ResultTensor {
  DType dtype = DType::kUndefined;  ///< kUndefined: an undefined tensor
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements; empty for a sparse tensor
  /// Which tensor among the inputs has the storage, counted as for_each_tensor() does; -1: none,
  /// it is new.
  int storage_of = -1;
  int same_as = -1;                 ///< the input that it is itself (in-place); -1: none
  std::int64_t offset_from = 0;     ///< storage offset minus that input's, in elements; of a new
                                    ///< storage the offset itself
  bool offset_is_absolute = false;  ///< `offset_from` is the offset in that input's storage:
                                    ///< as_strided() by a storage_offset
  bool operator==(const ResultTensor&) const = default;
};

/// CallResults::why_not of a nested tensor, which has no sizes.
inline constexpr std::string_view kNestedResult = "a result is a nested tensor";

/// What a call results in.
struct CallResults {
  /// Lists one behind the other; results that are no tensors are left out.
  std::vector<ResultTensor> tensors = {};
  std::vector<int> list_sizes = {};  ///< of each result that is a list of tensors, in order
  std::string why_not = {};          ///< why the results are not known: then `tensors` is empty
  bool operator==(const CallResults&) const = default;
};

/// A file of answers: JSON lines, of which the first tells format and version.
[[nodiscard]] std::string call_results_header();
/// The line of one call:
/// {"tensors":[{"dtype","sizes","strides","storage_of","same_as","offset_from",
/// "offset_is_absolute"}],"list_sizes":[]},
/// where members that are as in an empty ResultTensor are left out, or {"why_not":"…"}.
[[nodiscard]] std::string call_results_line(const CallResults& results);

/// Reads the header and the lines. Throws Error (bad input), which names `file`.
[[nodiscard]] std::vector<CallResults> call_results_from_text(std::string_view text,
                                                              const std::string& file);

}  // namespace understudy::et_schema
