#pragma once

#include <span>

#include "et_schema/model/operator_facts.h"

namespace understudy::et_schema::operator_rows {

// The table in parts, each sorted by name; no operator is in two of them.
[[nodiscard]] std::span<const OperatorFacts> index_rows();
[[nodiscard]] std::span<const OperatorFacts> layer_rows();
[[nodiscard]] std::span<const OperatorFacts> number_rows();
[[nodiscard]] std::span<const OperatorFacts> tensor_rows();

}  // namespace understudy::et_schema::operator_rows
