#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "et_schema/formats/bench/bench.h"

namespace understudy::generator::test {

/// Where two programs differ, by field: "slot.strides" → how many slots. Slots and storages are
/// compared by the places that they stand in, not by their numbers; bodies, and what stands in
/// them alone, are left out. Fields are all that a Program has.
[[nodiscard]] std::map<std::string, std::uint64_t> differences(const et_schema::Program& a,
                                                               const et_schema::Program& b);

}  // namespace understudy::generator::test
