#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/base/error.h"
#include "group.h"
#include "processes.h"
#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// A call that did not complete within the time limit.
struct LateCall {
  const Call& call;
  const Group& group;
  std::uint64_t index;  ///< number of the call among those of its kind in the group, from 1
  std::chrono::steady_clock::time_point started;
  int world_rank;
  double time_limit_s;
};

/// A question to another rank, sent if a call that involves the rank takes long.
struct Question {
  std::uint64_t index = 0;  ///< of the asker's call
  Line line;                ///< in which the asked rank has to start as many
  bool operator==(const Question&) const = default;
};

inline constexpr std::size_t kDoingBytes = 240;

struct Answer {
  Question question;
  std::uint64_t started = 0;   ///< number of started calls of the line
  std::uint64_t progress = 0;  ///< number of calls of Job::note_progress() so far
  /// Description of the call that the rank waits in, a C string; empty if in no call.
  std::array<char, kDoingBytes> doing{};
  [[nodiscard]] bool has_started() const { return started >= question.index; }
};

/// What is known of a rank that a late call waits for.
struct Heard {
  int world_rank = 0;
  std::optional<Answer> answer;
  bool is_stopped = false;  ///< its process is stopped, as far as this is known
};

/// Return the question, and the world ranks to ask: the rest of the group, or the peer of a send or
/// receive.
[[nodiscard]] Question question_of(const LateCall& late);
[[nodiscard]] std::vector<int> ranks_to_ask(const LateCall& late);

/// Returns the error for a rank of the call that has died (according to its host), or that the wire
/// has lost although its process is alive or invisible.
[[nodiscard]] et_schema::Error lost_rank_error(const LateCall& late, int world_rank,
                                               Processes::State process);

/// Returns the error that names which rank waits for which, from the others' answers.
[[nodiscard]] et_schema::Error late_call_error(const LateCall& late,
                                               const std::vector<Heard>& heard);

}  // namespace understudy::backends
