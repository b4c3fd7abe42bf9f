#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// A storage that is alive at the peak, as the tensor that it was first.
struct LiveTensor {
  SlotId slot = 0;
  std::uint64_t bytes = 0;  ///< of the storage
  bool external = false;
  std::optional<std::size_t> maker;  ///< index of the instruction that made it; of externals none
};

/// The memory that a program's tensors take, by the lifetimes of its slots: what an allocator that
/// loses nothing would need. What operators allocate and free inside of them is not in it.
struct MemoryPlan {
  std::uint64_t external_bytes = 0;       ///< they live throughout
  std::uint64_t untouched_bytes = 0;      ///< of these: what no instruction uses
  std::vector<std::uint64_t> live_bytes;  ///< while each instruction runs, externals included
  std::uint64_t peak_bytes = 0;           ///< of live_bytes; of a program without instructions, of
                                          ///< the externals
  std::optional<std::size_t> peak;        ///< the first instruction where it is reached
  std::vector<LiveTensor> largest;        ///< alive at the peak, by falling size
};

/// Time and memory linear in the program. `largest`: how many tensors are listed.
[[nodiscard]] MemoryPlan plan_memory(const Program& program, std::size_t largest = 10);

/// "float32[128, 2048]".
[[nodiscard]] std::string layout_text(const Slot& slot);
/// "aten::mm, node 35" – what made it, or "before the step".
[[nodiscard]] std::string maker_text(const Program& program, const MemoryPlan& plan,
                                     const LiveTensor& tensor);

}  // namespace understudy::et_schema
