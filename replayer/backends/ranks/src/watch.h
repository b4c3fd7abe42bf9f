#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/base/process.h"
#include "group.h"
#include "replayer/backends/ranks/wire.h"

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

/// Watches the call that has been in progress longest. It asks the ranks that the call waits for
/// how far they are, and answers their questions, also while the program computes. It ends the call
/// if one of them is dead, or has made no progress within the time limit.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  using Answerer = std::function<Answer(const Question&)>;

  Watch(Wire& wire, Answerer answerer) : wire_(wire), answerer_(std::move(answerer)) {}

  /// Sets the processes of the job's ranks. Before that, no rank is known to have ended.
  void set_processes(std::vector<et_schema::ProcessId> by_rank) { processes_ = std::move(by_rank); }

  /// Answers received questions, and takes received answers.
  void serve(Clock::time_point now);
  /// Checks the call. Throws Error (failed), which names the ranks that the call waits for.
  void look(const LateCall& late, Clock::time_point now);

 private:
  /// A rank that the call waits for.
  struct Waited {
    int world_rank = 0;
    Clock::time_point since;                      ///< when the rank was last seen to make progress
    std::optional<Clock::time_point> asked = {};  ///< if the question or its answer is in transit
    std::optional<Answer> answer = {};            ///< the last one about this call
    std::optional<Clock::time_point> dead_since = {};
  };

  [[nodiscard]] et_schema::ProcessState state(int world_rank) const;
  void begin(const LateCall& late);
  void take(const Answer& answer, int from, Clock::time_point now);
  void look_for_death(Waited& other, const LateCall& late, Clock::time_point now);
  [[nodiscard]] bool is_late(const LateCall& late, Clock::time_point now) const;
  [[nodiscard]] bool is_overdue(const Waited& other, const LateCall& late,
                                Clock::time_point now) const;
  [[nodiscard]] std::string all_heard(Clock::time_point now) const;

  Wire& wire_;
  Answerer answerer_;
  std::vector<et_schema::ProcessId> processes_;  ///< by world rank; empty until set
  Clock::time_point started_;                    ///< begin of the watched call
  Question question_;  ///< about the watched call; its number is that of the call
  Clock::time_point next_look_;
  std::vector<Waited> waited_;
};

}  // namespace understudy::backends
