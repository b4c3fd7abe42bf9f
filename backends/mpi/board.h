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

/// A question to another rank when a call that involves it takes long.
struct Question {
  enum class About : std::int32_t { kCollectives, kSendsToMe, kReceivesFromMe };
  About about = About::kCollectives;
  GroupId group = 0;
  std::int32_t asker = 0;  ///< rank in the group
  bool operator==(const Question&) const = default;
};

inline constexpr std::size_t kDoingBytes = 240;

struct Answer {
  std::uint64_t started = 0;   ///< number of calls of the kind in question
  std::uint64_t progress = 0;  ///< Backend::note_progress() so far
  /// The call that the rank waits in, a C string; empty: in no call.
  std::array<char, kDoingBytes> doing{};
};

/// The last question to a rank, and its last answer.
struct Heard {
  int world_rank = 0;
  Question question;
  bool under_way = false;  ///< the question or its answer is under way
  std::chrono::steady_clock::time_point asked;
  bool answered = false;  ///< `answer` belongs to `question`, even if later ones have no answer yet
  Answer answer;
  bool is_stopped = false;  ///< its process is stopped, if that can be found out
};

/// Tells ranks what the others are doing, over a communicator of its own. A rank answers whenever
/// its engine serves the board, also while the program computes.
class Board {
 public:
  using Answerer = std::function<Answer(const Question&)>;

  Board(MPI_Comm comm, Answerer answerer);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  /// Stops listening; the last call, before MPI_Finalize.
  void withdraw();

  /// Answers questions that have come in, and takes answers.
  void serve();
  /// Sends the question, unless one to this rank is still under way.
  void ask(const Question& question, int world_rank);
  [[nodiscard]] const Heard& heard(int world_rank) { return peer(world_rank).heard; }

 private:
  /// Only one question at a time is under way to a rank, so that no answer is taken for another's.
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
  // Messages under way stay here until the job ends.
  std::vector<std::unique_ptr<Answer>> answers_;
  std::map<int, std::unique_ptr<Peer>> peers_;  ///< by world rank
};

}  // namespace understudy::backends
