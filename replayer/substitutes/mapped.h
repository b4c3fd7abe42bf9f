#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <variant>

#include "et_schema/facts/operator_map.h"
#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// What the operator map says of an operator, ready to be called: a substitute by the function of
/// the row that fits its recorded schema. Operators of ATen that the function calls and that the
/// device has no kernel for are replaced by substitutes of their own. Otherwise why there is none;
/// empty where no row names the operator.
[[nodiscard]] std::variant<Substitute, std::string> find_mapped(std::string_view recorded_schema,
                                                                c10::Device device);

/// Compiles the functions of all rows of a map, which costs some milliseconds. Throws
/// Error (bad input): LibTorch cannot compile one, or it calls what does more than compute
/// (et_schema/model/operator_trust.h).
void check_operator_map(const et_schema::OperatorMap& map = et_schema::operator_map());

}  // namespace understudy::replayer
