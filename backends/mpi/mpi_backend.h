#pragma once

#include <mpi.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "engine.h"
#include "group.h"

namespace understudy::backends {

/// Calls MPI_Init and MPI_Finalize, unless the program that loaded the module has initialised MPI
/// itself.
class MpiSession {
 public:
  MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession();

  /// Skips MPI_Finalize at the end, since other ranks may never come to it. If the process then
  /// ends with a status other than 0, the launcher ends the job.
  void leave_unfinished() { finalize_ = false; }

 private:
  bool finalize_ = false;
};

class MpiBackend : public Backend {
 public:
  explicit MpiBackend(const BackendOptions& options);
  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;
  ~MpiBackend() override;

  [[nodiscard]] std::string name() const override { return "mpi"; }
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return world_size_; }
  [[nodiscard]] std::string host() const override;
  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override;
  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override;
  void wait(std::unique_ptr<Work> work) override;
  void run(const Call& call) override;
  [[nodiscard]] std::vector<std::string> all_gather_text(const std::string& text) override;
  void barrier() override;
  void set_time_limit(double seconds) override { engine_->set_time_limit(seconds); }
  void note_progress() override { engine_->note_progress(); }
  void interrupt() override { engine_->interrupt(); }
  [[noreturn]] void abort(int status) override;

 private:
  /// The group of a call, which must fit it; throws otherwise.
  [[nodiscard]] Group& group_for(const Call& call);
  [[nodiscard]] const Group* find_group(GroupId id) const;
  [[nodiscard]] std::unique_ptr<Group> whole_world(GroupId id, const std::string& name) const;
  void check_same_everywhere(const std::string& name, const std::vector<int>& ranks);
  void make_communicators(Group& group, GroupId id) const;
  static void free_communicators(Group& group);

  MpiSession session_;
  int rank_ = 0;
  int world_size_ = 1;
  int exceptions_at_start_ = 0;
  MPI_Comm board_comm_ = MPI_COMM_NULL;
  std::deque<std::unique_ptr<Group>> groups_;
  /// For texts and barriers of the job itself, which no program has.
  std::unique_ptr<Group> set_up_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace understudy::backends
