#pragma once

#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "replayer/substitutes/substitutes.h"
#include "substitute_inputs.h"

namespace understudy::replayer {

/// One operator of fbgemm's lookups with its substitute; other operators' are rows of
/// stand_ins.json.
struct SubstituteRow {
  /// Names, separated by blanks. Each is an operator (all its overloads), one overload, or a prefix
  /// followed by '*'.
  std::string_view op;
  std::string_view by;         ///< for the report
  std::string_view arguments;  ///< as for ArgumentPlaces, in the order in which `run` reads them
  Results (*run)(Inputs&);     ///< unpacked<function>
};

/// Calls `kFunction` with arguments read from the call's: `unpacked<lstm_cell>`.
template <auto kFunction>
auto unpacked(Inputs& in) {
  const auto call =
      [&]<typename Returned, typename... Parameters>(Returned (*function)(Parameters...)) {
        // A braced list is evaluated from left to right.
        return std::apply(function, std::tuple<std::remove_cvref_t<Parameters>...>{
                                        in.take<std::remove_cvref_t<Parameters>>()...});
      };
  return call(kFunction);
}

/// Returns true if `names`, in the form of SubstituteRow::op, include the operator.
[[nodiscard]] bool names_operator(std::string_view names, std::string_view op);

[[nodiscard]] std::span<const SubstituteRow> lookup_rows();
[[nodiscard]] std::span<const SubstituteRow> lookup_update_rows();

}  // namespace understudy::replayer
