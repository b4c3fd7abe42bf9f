#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "et_schema/model/program.h"
#include "values_draws.h"

namespace understudy::replayer {

/// Writes the draws of elements [first, first + count) to `data`, as `dtype`. Numbers beyond a
/// floating dtype's range become its largest, those it can only hold as subnormals 0. Throws Error
/// (bad input) where whole numbers do not fit an integer dtype.
void store_draws(const Draws& draws, const et_schema::ValueRule& rule, std::int64_t first,
                 std::int64_t count, void* data, at::ScalarType dtype);

}  // namespace understudy::replayer
