#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The recorded host threads of a program whose instructions have times.
struct RecordedThreads {
  std::uint64_t main = 0;  ///< the busiest: others run beside it, not it beside them
  /// Threads that truly ran beside another one, by number: data loading, a hook on received
  /// gradients. Autograd's is none of them, since its caller waits for it.
  std::vector<std::uint64_t> beside;
};
/// Where no instruction has a time, the main thread is that of the first instruction.
[[nodiscard]] RecordedThreads recorded_threads(const Program& program);

}  // namespace understudy::et_schema
