#pragma once

#include <mpi.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replayer/backends/interface/roll_call.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// Calls MPI_Init and MPI_Finalize, unless the program that loaded the module has initialised MPI.
class MpiSession {
 public:
  explicit MpiSession(const BackendOptions& options);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession();

  /// Skips MPI_Finalize at the end, since other ranks may never reach it. If the process then ends
  /// with a status other than 0, the launcher ends the job.
  void leave_unfinished() { finalize_ = false; }

 private:
  BackendOptions options_;
  RollCall roll_;  ///< kept until the end: others may still wait when this rank has finished
  bool finalize_ = false;
};

/// A wire over MPI. Letters have a communicator of their own.
class MpiWire : public Wire {
 public:
  explicit MpiWire(const BackendOptions& options);
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;
  ~MpiWire() override;

  [[nodiscard]] std::string name() const override { return "mpi"; }
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::string host() const override;
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return world_size_; }
  [[nodiscard]] int tag_limit() const override { return tag_limit_; }

  [[nodiscard]] Channel open(std::uint32_t id, std::span<const int> ranks) override;
  [[nodiscard]] std::unique_ptr<Transfers> make_transfers() override;
  void post(int world_rank, std::span<const std::byte> letter) override;
  [[nodiscard]] std::optional<Letter> next_letter() override;
  /// Always false: if a rank dies, the launcher ends the job.
  [[nodiscard]] bool is_lost(int /*world_rank*/) const override { return false; }
  void leave_unfinished() override;
  void abort_others(int status) override;
  [[nodiscard]] std::size_t letters_under_way() const { return posted_.size(); }

 private:
  void listen();
  void free_sent();

  struct Posted {
    std::vector<std::byte> bytes;
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  std::deque<Posted> posted_;  ///< letters in transit; they outlive MPI_Finalize
  BackendOptions options_;
  MpiSession session_;
  bool is_unfinished_ = false;
  int rank_ = 0;
  int world_size_ = 1;
  int tag_limit_ = 0;
  std::vector<MPI_Comm> comms_;  ///< by channel
  MPI_Comm letters_ = MPI_COMM_NULL;
  MPI_Request listening_ = MPI_REQUEST_NULL;
  std::array<std::byte, kLargestLetter> incoming_{};
};

}  // namespace understudy::backends
