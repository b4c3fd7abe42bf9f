#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// A storage that is alive at the peak, shown as the tensor that it first held (externals: as the
/// largest tensor in it).
struct LiveTensor {
  SlotId slot = 0;
  std::uint64_t bytes = 0;  ///< of the storage
  bool external = false;
  std::optional<std::size_t> maker;  ///< index of the instruction that made it; unset for externals
};

/// The memory that a program's tensors need, computed from the lifetimes of its slots. Leaves out
/// the allocator's overhead, and memory that operators allocate and free internally.
struct MemoryPlan {
  std::uint64_t external_bytes = 0;       ///< alive throughout
  std::uint64_t untouched_bytes = 0;      ///< part of external_bytes that no instruction uses
  std::vector<std::uint64_t> live_bytes;  ///< while each instruction runs, externals included
  /// Maximum of live_bytes; external_bytes if the program has no instructions.
  std::uint64_t peak_bytes = 0;
  std::optional<std::size_t> peak;  ///< the first instruction with peak_bytes
  std::vector<LiveTensor> largest;  ///< alive at the peak, by descending size
};

/// Takes time and memory linear in the program. `largest`: number of tensors listed.
[[nodiscard]] MemoryPlan plan_memory(const Program& program, std::size_t largest = 10);

/// The same of the memory that the step works in, a device's or the host's: that with more bytes.
[[nodiscard]] MemoryPlan plan_step_memory(const Program& program, std::size_t largest = 10);

/// "float32[128, 2048]".
[[nodiscard]] std::string layout_text(const Slot& slot);
/// Returns the instruction that made the tensor ("aten::mm, node 35"), or "before the step".
[[nodiscard]] std::string maker_text(const Program& program, const MemoryPlan& plan,
                                     const LiveTensor& tensor);

}  // namespace understudy::et_schema
