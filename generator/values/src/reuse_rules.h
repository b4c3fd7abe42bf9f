#pragma once

#include <cstdint>
#include <string>

#include "et_schema/model/program.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// The rule for elements that repeat as recorded.
[[nodiscard]] et_schema::ValueRule reuse_rule(et_schema::Reuse reuse, std::string why);

/// A kReuse rule for `count` elements that obeys a kIntegers rule too: numbers beyond its range are
/// moved to the nearest within, and as many are different as it asks for. Where that cannot be, the
/// kIntegers rule.
[[nodiscard]] et_schema::ValueRule narrow_reuse(const et_schema::ValueRule& reuse,
                                                const et_schema::ValueRule& integers,
                                                std::int64_t count);

/// A kIntegers rule for `count` elements as the user wants indices to be spread. Rules that ask for
/// a number of different values keep it.
[[nodiscard]] et_schema::ValueRule spread_indices(const et_schema::ValueRule& integers,
                                                  const IndexSpread& spread, std::int64_t count,
                                                  std::uint64_t seed);

}  // namespace understudy::generator
