#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "backends/communicator.h"

namespace understudy::backends {

/// What a rank asks another when a call of it takes long.
struct Question {
  enum class About : std::int32_t { kCollectives, kSendsToMe, kReceivesFromMe };
  About about = About::kCollectives;
  GroupId group = 0;
  std::int32_t asker = 0;  ///< rank in the group
  bool operator==(const Question&) const = default;
};

inline constexpr std::size_t kDoingBytes = 240;

struct Answer {
  std::uint64_t started = 0;              ///< calls of the kind that were asked about
  std::uint64_t progress = 0;             ///< Backend::note_progress() so far
  std::array<char, kDoingBytes> doing{};  ///< what the rank waits in, a C string; empty: in no call
};

/// What one rank was asked last, and answered.
struct Heard {
  int world_rank = 0;
  Question question;
  bool under_way = false;  ///< the question, or its answer
  std::chrono::steady_clock::time_point asked;
  bool answered = false;  ///< `answer` is one to `question`, if not the last
  Answer answer;
  bool is_stopped = false;  ///< its process, where that can be told
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

  /// Answers what has come in, and takes answers.
  void serve();
  /// Sends the question, unless one to this rank is still under way.
  void ask(const Question& question, int world_rank);
  [[nodiscard]] const Heard& heard(int world_rank) { return peer(world_rank).heard; }

 private:
  /// One at a time is under way to a rank, so that no answer is taken for another's.
  struct Peer {
    Question sent;
    Answer arriving;
    MPI_Request receive = MPI_REQUEST_NULL;
    Heard heard;
  };

  void listen();
  [[nodiscard]] Peer& peer(int world_rank);

  MPI_Comm comm_;
  Answerer answerer_;
  Question incoming_;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  // What is under way lives here until the job ends.
  std::vector<std::unique_ptr<Answer>> answers_;
  std::map<int, std::unique_ptr<Peer>> peers_;  ///< by world rank
};

}  // namespace understudy::backends
