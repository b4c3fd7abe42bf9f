#pragma once

// Communication between ranks by MPI.

#include <ATen/core/Tensor.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

struct Call;

class Comms {
 public:
  /// `groups`: ranks by process group; empty: all ranks.
  Comms(const std::vector<std::vector<int>>& groups, int ranks) : groups_(groups), size_(ranks) {
    current() = this;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (size != ranks) {
      problem_ = "this benchmark has " + std::to_string(ranks) + " ranks, " + std::to_string(size) +
                 " were started: mpirun -np " + std::to_string(ranks);
      return;
    }
    for (const std::vector<int>& members : groups_) {
      const bool is_member =
          members.empty() || std::find(members.begin(), members.end(), rank_) != members.end();
      const auto key = std::find(members.begin(), members.end(), rank_) - members.begin();
      MPI_Comm made = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, is_member ? 0 : MPI_UNDEFINED,
                     members.empty() ? rank_ : static_cast<int>(key), &made);
      communicators_.push_back(made);
    }
  }
  ~Comms() { MPI_Finalize(); }
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  static Comms*& current() {
    static Comms* comms = nullptr;
    return comms;
  }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator(std::size_t group) const { return communicators_.at(group); }
  /// Returns this rank's position in a process group, and the group's size.
  [[nodiscard]] std::pair<int, int> place(std::size_t group) const {
    if (group >= groups_.size() || groups_[group].empty())
      return {rank_, size_};
    const std::vector<int>& ranks = groups_[group];
    const auto self = std::find(ranks.begin(), ranks.end(), rank_);
    return {self == ranks.end() ? 0 : static_cast<int>(self - ranks.begin()),
            static_cast<int>(ranks.size())};
  }
  /// Returns this rank's share of the host's cores.
  [[nodiscard]] int cores() const {
    const int all = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    MPI_Comm host = MPI_COMM_NULL;
    int here = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    return std::max(1, all / here);
  }
  void barrier() const { MPI_Barrier(MPI_COMM_WORLD); }
  [[nodiscard]] bool any_rank(bool here) const {
    int any = here ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any != 0;
  }
  /// Replaces each value by its maximum over all ranks: the slowest rank decides.
  void max_of_ranks(std::vector<double>& values) const {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
  }
  /// Ends all ranks.
  static void abort() {
    int running = 0;
    int finished = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&finished);
    if (running != 0 && finished == 0)
      MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  const std::vector<std::vector<int>>& groups_;
  int size_;
  int rank_ = 0;
  std::optional<std::string> problem_;
  std::vector<MPI_Comm> communicators_;
};

/// Starts a communication and returns a function that completes it. Tensors must be contiguous.
inline std::function<void()> start_mpi(const Comms& comms, const Call& call);

}  // namespace bench
