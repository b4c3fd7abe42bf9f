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

/// Watches the call that has been under way longest: asks the ranks that it waits for where they
/// are, and ends it if one of them is dead, or has not got on for as long as the time limit.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  Watch(Board& board, Processes processes) : board_(board), processes_(std::move(processes)) {}

  /// `started`: when the call was. Throws Error (failed) that names the ranks.
  void look(const LateCall& late, Clock::time_point started, Clock::time_point now);

 private:
  /// A rank that the call waits for.
  struct Waited {
    int world_rank = 0;
    bool was_heard = false;
    bool has_started = false;  ///< the call
    std::uint64_t progress = 0;
    Clock::time_point since;  ///< when it was last seen to get on
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
  Clock::time_point started_;  ///< of the call that is watched
  Clock::time_point next_look_;
  std::vector<Waited> waited_;
};

}  // namespace understudy::backends
