#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <variant>

#include "et_schema/facts/operator_map.h"
#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// Returns the operator map's substitute: the function of the row that fits the recorded schema. If
/// the device has no kernel for an ATen operator that the function calls, the operator is
/// substituted, too. If there is no substitute, returns the reason; empty if no row names the
/// operator.
[[nodiscard]] std::variant<Substitute, std::string> find_mapped(std::string_view recorded_schema,
                                                                c10::Device device);

/// Compiles the functions of all rows of a map, which takes some milliseconds. Throws Error (bad
/// input) if LibTorch cannot compile one, or it calls an operator that does more than compute
/// (et_schema/model/operator_trust.h).
void check_operator_map(const et_schema::OperatorMap& map = et_schema::operator_map());

}  // namespace understudy::replayer
