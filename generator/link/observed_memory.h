#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

/// One block of memory whose allocation a profile recorded.
struct ObservedBlock {
  std::int64_t allocated_ns = 0;
  std::optional<std::int64_t> freed_ns;  ///< unset: alive at the profile's end
  std::int64_t bytes = 0;
  std::uint64_t address = 0;
  bool on_cpu = true;
};

/// Returns all blocks of a profile, by time of allocation.
[[nodiscard]] std::vector<ObservedBlock> observed_blocks(const et_schema::Profile& profile);

/// When a node ran, on the profile's clock.
struct ObservedSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// The memory events (profile_memory) in the profile of the traced step itself. Empty without them.
struct ObservedMemory {
  std::vector<ObservedBlock> blocks;               ///< by time of allocation
  std::vector<std::optional<ObservedSpan>> nodes;  ///< by node
};

/// Joins by "Record function id", so `profile` must show the same step as the trace. With another
/// step, or without memory events, the result is empty. The time is n log n in the events.
[[nodiscard]] ObservedMemory observe_memory(const et_schema::Trace& trace,
                                            const et_schema::Profile& profile);

}  // namespace understudy::generator
