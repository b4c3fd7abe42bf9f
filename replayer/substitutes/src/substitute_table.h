#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <string_view>
#include <vector>

#include "replayer/substitutes/substitutes.h"
#include "substitute_inputs.h"

namespace understudy::replayer {

/// One operator with what stands in for it. The tables are data: each row has a test that compares
/// it with the computation it stands for.
struct SubstituteRow {
  /// Name, which stands for all overloads, or one overload, or a beginning followed by '*'.
  std::string_view op;
  std::string_view by;         ///< for the report
  std::string_view arguments;  ///< as ArgumentPlaces takes them, in the order `run` reads them
  std::vector<c10::IValue> (*run)(Inputs&, const Fillers&);
  Rung rung = Rung::kSubstituted;
};

/// Whether `row`, as SubstituteRow::op is written, stands for the operator.
[[nodiscard]] bool names_operator(std::string_view row, std::string_view op);

[[nodiscard]] std::span<const SubstituteRow> convolution_rows();
[[nodiscard]] std::span<const SubstituteRow> normalization_rows();
[[nodiscard]] std::span<const SubstituteRow> attention_rows();
[[nodiscard]] std::span<const SubstituteRow> attention_kernel_rows();
[[nodiscard]] std::span<const SubstituteRow> moved_attention_rows();
[[nodiscard]] std::span<const SubstituteRow> recurrent_rows();
[[nodiscard]] std::span<const SubstituteRow> cudnn_rnn_rows();
[[nodiscard]] std::span<const SubstituteRow> other_rows();
[[nodiscard]] std::span<const SubstituteRow> jagged_rows();
[[nodiscard]] std::span<const SubstituteRow> lookup_rows();

}  // namespace understudy::replayer
