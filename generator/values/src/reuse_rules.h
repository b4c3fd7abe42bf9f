#pragma once

#include <cstdint>
#include <string>

#include "et_schema/model/program.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// The rule for elements that repeat as recorded.
[[nodiscard]] et_schema::ValueRule reuse_rule(et_schema::Reuse reuse, std::string why);

/// A rule of ReusedIntegers for `count` elements that obeys one of Integers too: numbers beyond its
/// range are moved to the nearest within, and as many are different as it asks for. Where that
/// cannot be, the rule of Integers.
[[nodiscard]] et_schema::ValueRule narrow_reuse(const et_schema::ValueRule& reuse,
                                                const et_schema::ValueRule& integers,
                                                std::int64_t count);

/// A rule of Integers for `count` elements as the user wants indices to be spread. Rules that ask
/// for a number of different values keep it.
[[nodiscard]] et_schema::ValueRule spread_indices(const et_schema::ValueRule& integers,
                                                  const IndexSpread& spread, std::int64_t count,
                                                  std::uint64_t seed);

}  // namespace understudy::generator
