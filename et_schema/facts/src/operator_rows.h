#pragma once

#include <span>
#include <string_view>

#include "et_schema/facts/operator_facts.h"

namespace understudy::et_schema::operator_rows {

/// Operators with the same facts share a row.
struct OperatorRow {
  std::string_view names;  ///< words (words.h): "acos arccos"; without a namespace they are aten's
  OperatorFacts facts;     ///< without a name
};

// The table in parts; no operator is in two rows.
[[nodiscard]] std::span<const OperatorRow> value_rows();
[[nodiscard]] std::span<const OperatorRow> tensor_rows();

}  // namespace understudy::et_schema::operator_rows
