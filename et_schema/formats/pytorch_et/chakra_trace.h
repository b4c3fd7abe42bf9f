#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Converts the host nodes of a Chakra trace to an execution trace. Ids are Chakra's, plus 2 if one
/// is below 2. Device nodes become times of the host node that launched them (Trace::own_times).
/// Parts of an operator that Chakra's converter split are joined again. If communication records
/// only a size, buffers of that size are added. `world_size` is the size of groups that are not
/// listed. Throws Error (bad input) with node and byte if two nodes have the same id, a node
/// depends on itself, or arguments cannot be read.
[[nodiscard]] Trace trace_of_chakra(ChakraFile file, std::int64_t world_size);

/// Reads the Chakra traces among files, archives or folders, sorted by rank. Ranks are inferred
/// from names as for other traces; a single file has the rank in its name, PREFIX.R.et. Throws
/// Error (bad input) as parse_chakra() does, or if no trace is found.
[[nodiscard]] std::vector<ChakraFile> read_chakra_files(
    const std::vector<std::string>& paths, const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
