#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "replayer/backends/interface/communicator.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// A question to another rank, sent if a call that involves the rank takes long.
struct Question {
  enum class About : std::int32_t { kCollectives, kSendsToMe, kReceivesFromMe };
  About about = About::kCollectives;
  GroupId group = 0;
  std::int32_t asker = 0;  ///< rank in the group
  bool operator==(const Question&) const = default;
};

inline constexpr std::size_t kDoingBytes = 240;

struct Answer {
  std::uint64_t started = 0;   ///< number of started calls of the kind in question
  std::uint64_t progress = 0;  ///< number of calls of Job::note_progress() so far
  /// Description of the call that the rank waits in, a C string; empty if in no call.
  std::array<char, kDoingBytes> doing{};
};

/// The last question to a rank, and its last answer.
struct Heard {
  int world_rank = 0;
  Question question;
  bool under_way = false;  ///< the question or its answer is in transit
  std::chrono::steady_clock::time_point asked;
  bool answered = false;  ///< `answer` belongs to `question`, even if later ones have no answer yet
  Answer answer;
  bool is_stopped = false;  ///< its process is stopped, as far as this is known
};

/// Lets ranks query by letters what the others are doing. A rank answers whenever its engine serves
/// the board, also while the program computes.
class Board {
 public:
  using Answerer = std::function<Answer(const Question&)>;

  Board(Wire& wire, Answerer answerer) : wire_(wire), answerer_(std::move(answerer)) {}

  /// Answers received questions, and records received answers.
  void serve();
  /// Sends the question, unless an earlier one to this rank is still in transit.
  void ask(const Question& question, int world_rank, std::chrono::steady_clock::time_point now);
  [[nodiscard]] const Heard& heard(int world_rank) { return of(world_rank); }
  [[nodiscard]] bool is_lost(int world_rank) const { return wire_.is_lost(world_rank); }

 private:
  [[nodiscard]] Heard& of(int world_rank);

  Wire& wire_;
  Answerer answerer_;
  /// By world rank. Only one question at a time is in transit to a rank, so that an answer is never
  /// assigned to another question.
  std::map<int, Heard> heard_;
};

}  // namespace understudy::backends
