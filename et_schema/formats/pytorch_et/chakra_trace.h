#pragma once

#include <cstdint>

#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Converts the host nodes of a Chakra trace to an execution trace. Ids are Chakra's, plus 2 if one
/// is below 2. Device nodes become times of the host node that launched them (Trace::own_times).
/// Parts of an operator that Chakra's converter split are joined again. If communication records
/// only a size, buffers of that size are added. `world_size` is the size of groups that are not
/// among `groups`, which a file beside the traces lists. Throws Error (bad input) with node and
/// byte if two nodes have the same id, a node depends on itself, or arguments cannot be read.
[[nodiscard]] Trace trace_of_chakra(ChakraFile file, std::int64_t world_size,
                                    const std::vector<ProcessGroup>& groups = {});

}  // namespace understudy::et_schema
