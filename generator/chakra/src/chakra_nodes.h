#pragma once

#include "et_schema/bench/bench.h"
#include "et_schema/chakra/chakra.h"

namespace understudy::generator {

/// One rank's Chakra trace, without its file name.
[[nodiscard]] et_schema::ChakraFile chakra_of_rank(const et_schema::Bench& bench, std::size_t rank);

}  // namespace understudy::generator
