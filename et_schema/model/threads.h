#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The recorded host threads of a program whose instructions have times.
struct RecordedThreads {
  std::uint64_t main = 0;  ///< the busiest thread
  /// Threads that truly overlapped with another one, by number: data loading, a hook on received
  /// gradients. Autograd's thread is not among them, since its caller waits for it.
  std::vector<std::uint64_t> beside;
};
/// If no instruction has a time, the main thread is that of the first instruction.
[[nodiscard]] RecordedThreads recorded_threads(const Program& program);

/// Returns the program with a slot for each of these threads, and one for all others, where several
/// make a slot: the same view of one memory. Each reads its own. Otherwise one would let go of what
/// another reads.
[[nodiscard]] Program with_slots_by_thread(Program program,
                                           const std::vector<std::uint64_t>& threads);

}  // namespace understudy::et_schema
