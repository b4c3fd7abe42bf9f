#pragma once

#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "replayer/substitutes/substitutes.h"
#include "substitute_inputs.h"

namespace understudy::replayer {

/// One operator with its substitute. The tables are data: a test compares each row with the
/// computation that it replaces.
struct SubstituteRow {
  /// Names, separated by blanks. Each is an operator (all its overloads), one overload, or a prefix
  /// followed by '*'.
  std::string_view op;
  std::string_view by;         ///< for the report
  std::string_view arguments;  ///< as for ArgumentPlaces, in the order in which `run` reads them
  Results (*run)(Inputs&, const Fillers&);  ///< unpacked<function>
  Rung rung = Rung::kSubstituted;
};

/// Returns an argument for one of a function's parameters: a `const Fillers&` is the recorded
/// results, others are read in their order.
template <typename Parameter>
decltype(auto) take_parameter(Inputs& in, const Fillers& fillers) {
  using Value = std::remove_cvref_t<Parameter>;
  if constexpr (std::is_same_v<Value, Fillers>) {
    return (fillers);
  } else {
    return in.take<Value>();
  }
}

/// Calls `kFunction` with arguments read from the call's: `unpacked<lstm_cell>`.
template <auto kFunction>
auto unpacked(Inputs& in, const Fillers& fillers) {
  const auto call = [&]<typename Returned, typename... Parameters>(
                        Returned (*function)(Parameters...)) {
    // A braced list is evaluated from left to right.
    return std::apply(function, std::tuple<decltype(take_parameter<Parameters>(in, fillers))...>{
                                    take_parameter<Parameters>(in, fillers)...});
  };
  return call(kFunction);
}

/// Returns true if `names`, in the form of SubstituteRow::op, include the operator.
[[nodiscard]] bool names_operator(std::string_view names, std::string_view op);

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
[[nodiscard]] std::span<const SubstituteRow> lookup_update_rows();

}  // namespace understudy::replayer
