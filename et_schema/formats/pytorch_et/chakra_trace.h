#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// The execution trace that a Chakra trace's host nodes are, in Chakra's ids (two more where one is
/// below 2). Device nodes become times of the host node that launched them (Trace::own_times), the
/// parts that Chakra's converter cuts an operator into become one node again, and communication
/// that records a size alone gets buffers. `world_size` is that of groups that are not listed.
/// Throws Error (bad input) with node and byte: two nodes of one id, a node that needs itself,
/// arguments that cannot be read.
[[nodiscard]] Trace trace_of_chakra(ChakraFile file, std::int64_t world_size);

/// Reads the Chakra traces among files, archives or folders, sorted by rank. Ranks are told by
/// names as those of other traces; a file alone is of the rank in its name, PREFIX.R.et. Throws
/// Error (bad input): those of parse_chakra(), none at all.
[[nodiscard]] std::vector<ChakraFile> read_chakra_files(
    const std::vector<std::string>& paths, const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
