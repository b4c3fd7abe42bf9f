#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "board.h"
#include "late_call.h"
#include "processes.h"

namespace understudy::backends {

/// Watches the call that has been in progress longest. It asks the ranks that the call waits for
/// how far they are. It ends the call if one of them is dead, or has made no progress within the
/// time limit.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Watch(Board& board) : board_(board) {}

  /// Sets the processes of the job's ranks. Before that, no rank is known to have ended.
  void set_processes(Processes processes) { processes_ = std::move(processes); }

  /// Checks the call, which began at `started`. Throws Error (failed), which names the ranks that
  /// the call waits for.
  void look(const LateCall& late, Clock::time_point started, Clock::time_point now);

 private:
  /// A rank that the call waits for.
  struct Waited {
    int world_rank = 0;
    bool was_heard = false;
    bool has_started = false;  ///< the rank has started the call
    std::uint64_t progress = 0;
    Clock::time_point since;  ///< when the rank was last seen to make progress
    std::optional<Clock::time_point> dead_since = {};
  };

  void begin(const LateCall& late, Clock::time_point started);
  void look_for_death(Waited& other, const LateCall& late, Clock::time_point now);
  void hear(Waited& other, const LateCall& late, Clock::time_point now);
  [[nodiscard]] bool is_late(const LateCall& late, Clock::time_point now) const;
  [[nodiscard]] bool is_overdue(const Waited& other, const LateCall& late,
                                Clock::time_point now) const;
  [[nodiscard]] std::vector<Heard> all_heard(Clock::time_point now) const;

  Board& board_;
  Processes processes_;
  Clock::time_point started_;  ///< begin of the watched call
  Clock::time_point next_look_;
  std::vector<Waited> waited_;
};

}  // namespace understudy::backends
