#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/observed_memory.h"

namespace understudy::generator {

/// What a profile shows of the block that holds a storage.
struct StorageBlock {
  bool is_known = false;    ///< whether it was found
  bool is_freed = false;    ///< within the step
  std::uint32_t until = 0;  ///< the first instruction that began after its free; the number of
                            ///< instructions if none did
};

/// By storage: the block that the instruction making it allocated. It is found by size and time:
/// the smallest block that holds the storage, was allocated while the instruction ran and was not
/// freed before it ended; the first of equals.
[[nodiscard]] std::vector<StorageBlock> blocks_of_storages(const et_schema::Trace& trace,
                                                           const ObservedMemory& observed,
                                                           const et_schema::Program& program);

}  // namespace understudy::generator
