#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/wire.h"
#include "engine.h"
#include "group.h"

namespace understudy::backends {

class RanksBackend : public Backend {
 public:
  RanksBackend(std::unique_ptr<Wire> wire, const BackendOptions& options);
  RanksBackend(const RanksBackend&) = delete;
  RanksBackend& operator=(const RanksBackend&) = delete;
  ~RanksBackend() override;

  [[nodiscard]] std::string name() const override { return wire_->name(); }
  [[nodiscard]] std::string version() const override { return wire_->version(); }
  [[nodiscard]] int rank() const override { return wire_->rank(); }
  [[nodiscard]] int world_size() const override { return wire_->world_size(); }
  [[nodiscard]] std::string host() const override { return wire_->host(); }
  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override;
  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override;
  Ended wait(std::unique_ptr<Work> work) override;
  void run(const Call& call) override;
  [[nodiscard]] std::vector<std::string> all_gather_text(const std::string& text) override;
  [[nodiscard]] std::vector<std::int64_t> processes_here() const override { return pids_here_; }
  [[nodiscard]] std::string scatter_text(const std::vector<std::string>& texts) override;
  void barrier() override;
  void set_time_limit(double seconds) override { engine_->set_time_limit(seconds); }
  void note_progress() override { engine_->note_progress(); }
  void interrupt() override { engine_->interrupt(); }
  [[noreturn]] void abort(int status) override;

 private:
  /// The group of a call, which must fit it; throws otherwise.
  [[nodiscard]] Group& group_for(const Call& call);
  [[nodiscard]] const Group* find_group(GroupId id) const;
  void check_same_everywhere(const std::string& name, const std::vector<int>& ranks);
  /// Opens its channels if this rank is a member.
  [[nodiscard]] std::unique_ptr<Group> make(GroupId id, const std::string& name,
                                            std::vector<int> ranks);
  /// Gathers every rank's `bytes` in the set-up's group.
  void all_gather(const void* own, std::int64_t bytes, void* all);
  /// Gives each rank its one of rank 0's `parts` there; sizes may differ.
  void scatter(std::vector<Buffer> parts, const Buffer& own);

  std::unique_ptr<Wire> wire_;
  int exceptions_at_start_ = 0;
  std::vector<std::int64_t> pids_here_;  ///< by rank
  std::deque<std::unique_ptr<Group>> groups_;
  /// The group for texts and barriers of the job itself, which no program has.
  std::unique_ptr<Group> set_up_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace understudy::backends
