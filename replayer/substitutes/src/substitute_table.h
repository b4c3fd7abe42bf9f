#pragma once

#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "replayer/substitutes/substitutes.h"
#include "substitute_inputs.h"

namespace understudy::replayer {

/// One operator with what stands in for it. The tables are data: each row has a test that compares
/// it with the computation it stands for.
struct SubstituteRow {
  /// Names, separated by blanks: each stands for all overloads, or is one overload, or a beginning
  /// followed by '*'.
  std::string_view op;
  std::string_view by;         ///< for the report
  std::string_view arguments;  ///< as ArgumentPlaces takes them, in the order `run` reads them
  Results (*run)(Inputs&, const Fillers&);  ///< unpacked<function>
  Rung rung = Rung::kSubstituted;
};

/// One of a function's parameters: a `const Fillers&` is what the results were recorded as, all
/// others are read in their order.
template <typename Parameter>
decltype(auto) take_parameter(Inputs& in, const Fillers& fillers) {
  using Value = std::remove_cvref_t<Parameter>;
  if constexpr (std::is_same_v<Value, Fillers>) {
    return (fillers);
  } else {
    return in.take<Value>();
  }
}

/// `kFunction` with its parameters taken from a call's arguments: `unpacked<lstm_cell>`.
template <auto kFunction>
auto unpacked(Inputs& in, const Fillers& fillers) {
  const auto call = [&]<typename Returned, typename... Parameters>(
                        Returned (*function)(Parameters...)) {
    // A list in braces is evaluated from the left to the right.
    return std::apply(function, std::tuple<decltype(take_parameter<Parameters>(in, fillers))...>{
                                    take_parameter<Parameters>(in, fillers)...});
  };
  return call(kFunction);
}

/// Whether `names`, as SubstituteRow::op is written, stand for the operator.
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
