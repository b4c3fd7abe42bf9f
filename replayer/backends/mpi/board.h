#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace understudy::backends {

/// What a rank asks another when a call of it has not completed in time.
struct Question {
  enum class About : std::int32_t { kCollectives, kSendsToMe, kReceivesFromMe };
  About about = About::kCollectives;
  GroupId group = 0;
  std::int32_t asker = 0;  ///< rank in the group
};

inline constexpr std::size_t kDoingBytes = 240;

struct Answer {
  std::uint64_t started = 0;              ///< calls of the kind that were asked about
  std::array<char, kDoingBytes> doing{};  ///< what the rank waits in, a C string; empty: in no call
};

/// One rank's answer, as it came in.
struct Heard {
  int world_rank = 0;
  bool answered = false;
  Answer answer;
};

/// Tells ranks from each other what they are doing, over a communicator of its own. A rank answers
/// whenever its engine looks in, which it does also while the program computes.
class Board {
 public:
  using Answerer = std::function<Answer(const Question&)>;

  Board(MPI_Comm comm, Answerer answerer);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  /// Stops to listen; the last call, before MPI_Finalize.
  void withdraw();

  /// Answers what has come in.
  void serve();
  /// Asks, and collects answers for as long as `patience_s` while it serves others that ask. Once
  /// only: answers that come later must not be taken for those of another question.
  [[nodiscard]] std::vector<Heard> ask(const Question& question,
                                       const std::vector<int>& world_ranks, double patience_s);

 private:
  void listen();

  MPI_Comm comm_;
  Answerer answerer_;
  Question incoming_;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  // Questions and answers under way live here until the job ends.
  std::vector<std::unique_ptr<Answer>> answers_;
  std::vector<std::unique_ptr<Question>> questions_;
  std::vector<std::unique_ptr<Heard>> heard_;
};

}  // namespace understudy::backends
