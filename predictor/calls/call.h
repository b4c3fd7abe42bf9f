#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/operator_call.h"

namespace understudy::predictor {

using et_schema::DType;
using et_schema::MeasuredCall;
using et_schema::OperatorCall;
using et_schema::TensorLayout;
using et_schema::TimedAs;

/// Returns the type of a name: "float16", as in Understudy's files, or another tool's spelling
/// ("torch.float16", "half", "Float", "f8e4m3", "Int"). Returns null if no type has the name.
[[nodiscard]] std::optional<DType> dtype_of_tool_name(std::string_view name);

/// Parses the whole text as a number, which may be infinite.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

/// Parses layouts between blanks, such as "float32[4,5] int64[4]". Calls `refuse`, which must
/// throw, with a text that is none.
[[nodiscard]] std::vector<TensorLayout> parse_tensors(
    std::string_view text, const std::function<void(std::string_view)>& refuse);

/// Returns the call that adds a row-sparse gradient to a table; null for any other call. Such an
/// update runs other kernels than index_add_ on the same rows, so it has an overload of its own,
/// "aten::index_add_.sparse". If that overload was not measured, times of index_add_ are used. Its
/// result is the part of the table that is written: `met_rows` rows, or if unset, the expected
/// number of distinct rows of uniform draws.
[[nodiscard]] std::optional<OperatorCall> sparse_update(
    const OperatorCall& call, std::optional<std::int64_t> met_rows = std::nullopt);

/// Returns the expected number of distinct rows among `draws` uniform draws from `rows` rows.
[[nodiscard]] std::int64_t rows_met(std::int64_t rows, std::int64_t draws);

/// The device of rows that do not name their card.
inline constexpr std::string_view kGpuPlace = "cuda";

}  // namespace understudy::predictor
