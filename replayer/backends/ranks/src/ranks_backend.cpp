#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "engine.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/process.h"
#include "group.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

using et_schema::CommKind;

namespace {

/// A group has two channels, whose ids are derived from the group's id.
constexpr std::uint32_t kChannelsOfGroup = 2;
constexpr GroupId kSetUpGroup = std::numeric_limits<GroupId>::max() / kChannelsOfGroup;
constexpr std::chrono::milliseconds kAbortPatience{500};

class RanksWork : public Work {
 public:
  RanksWork(std::weak_ptr<Engine> engine, std::shared_ptr<Operation> operation)
      : engine_(std::move(engine)), operation_(std::move(operation)) {}
  RanksWork(const RanksWork&) = delete;
  RanksWork& operator=(const RanksWork&) = delete;
  ~RanksWork() override {
    if (const std::shared_ptr<Engine> engine = engine_.lock()) {
      engine->let_go(*operation_);
    }
  }
  [[nodiscard]] Operation& operation() const { return *operation_; }

 private:
  std::weak_ptr<Engine> engine_;
  std::shared_ptr<Operation> operation_;
};

[[nodiscard]] std::string to_text(const std::string& name, const std::vector<int>& ranks) {
  return fmt::format("group '{}' of ranks [{}]", name, fmt::join(ranks, ", "));
}

class RanksBackend : public Backend {
 public:
  RanksBackend(std::unique_ptr<Wire> wire, const BackendOptions& options)
      : wire_(std::move(wire)), exceptions_at_start_(std::uncaught_exceptions()) {
    std::vector<int> world(static_cast<std::size_t>(world_size()));
    std::iota(world.begin(), world.end(), 0);
    groups_.push_back(make(0, "world", world));
    set_up_ = make(kSetUpGroup, "set-up of the job", world);
    engine_ = std::make_shared<Engine>(*wire_, options.time_limit_s);
    std::vector<et_schema::ProcessId> processes(world.size());
    const et_schema::ProcessId own = et_schema::own_process();
    try {
      run_set_up(CommKind::kAllGatherBase, {bytes_of(&own)},
                 {bytes_of(processes.data(), processes.size())});
    } catch (...) {
      wire_->leave_unfinished();
      throw;
    }
    std::ranges::transform(processes, std::back_inserter(pids_here_), [](const auto& process) {
      return et_schema::is_here(process) ? process.pid : std::int64_t{0};
    });
    engine_->watch_processes(std::move(processes));
  }

  RanksBackend(const RanksBackend&) = delete;
  RanksBackend& operator=(const RanksBackend&) = delete;
  ~RanksBackend() override {
    const bool is_clean = engine_->is_idle() && std::uncaught_exceptions() <= exceptions_at_start_;
    engine_.reset();
    if (!is_clean) {
      wire_->leave_unfinished();
    }
  }

  [[nodiscard]] std::string name() const override { return wire_->name(); }
  [[nodiscard]] std::string version() const override { return wire_->version(); }
  [[nodiscard]] int rank() const override { return wire_->rank(); }
  [[nodiscard]] int world_size() const override { return wire_->world_size(); }
  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override {
    std::vector<int> members(ranks.begin(), ranks.end());
    if (members.empty()) {
      members = groups_.front()->ranks;
    }
    const std::set<int> distinct(members.begin(), members.end());
    if (distinct.size() != members.size() || *distinct.begin() < 0 ||
        *distinct.rbegin() >= world_size()) {
      throw et_schema::run_failed(
          "a process group that the job cannot have",
          {.rank = rank(),
           .field = fmt::format("ranks of group '{}'", name),
           .expected = fmt::format("distinct ranks from 0 to {}", world_size() - 1),
           .got = fmt::format("[{}]", fmt::join(members, ", "))});
    }
    check_same_everywhere(name, members);
    const auto id = static_cast<GroupId>(groups_.size());
    const auto token = engine_->token();
    groups_.push_back(make(id, name, std::move(members)));
    return id;
  }

  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override {
    const Group& group = group_for(call);
    return std::make_unique<RanksWork>(engine_, engine_->start(call, group));
  }

  Ended wait(std::unique_ptr<Work> work) override {
    const auto* mine = dynamic_cast<RanksWork*>(work.get());
    UNDERSTUDY_ASSERT(mine != nullptr);
    engine_->wait(mine->operation());
    return mine->operation().ended;
  }

  void run(const Call& call) override {
    const Group& group = group_for(call);
    engine_->run(call, group);
  }

  [[nodiscard]] std::vector<std::string> all_gather_text(const std::string& text) override {
    std::vector<std::string> texts(static_cast<std::size_t>(world_size()));
    std::vector<std::size_t> lengths(texts.size());
    const std::size_t own_length = text.size();
    run_set_up(CommKind::kAllGatherBase, {bytes_of(&own_length)},
               {bytes_of(lengths.data(), lengths.size())});
    std::vector<Buffer> parts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i].resize(lengths[i]);
      parts.push_back(bytes_of(texts[i].data(), lengths[i]));
    }
    run_set_up(CommKind::kAllGather, {bytes_of(text.data(), text.size())}, std::move(parts));
    return texts;
  }

  [[nodiscard]] std::vector<std::int64_t> processes_here() const override { return pids_here_; }
  [[nodiscard]] std::string scatter_text(const std::vector<std::string>& texts) override {
    std::vector<std::size_t> lengths(texts.size());
    std::vector<Buffer> length_parts;
    std::vector<Buffer> text_parts;
    for (std::size_t i = 0; rank() == 0 && i < texts.size(); ++i) {
      lengths[i] = texts[i].size();
      length_parts.push_back(bytes_of(&lengths[i]));
      text_parts.push_back(bytes_of(texts[i].data(), lengths[i]));
    }
    std::size_t own_length = 0;
    run_set_up(CommKind::kScatter, std::move(length_parts), {bytes_of(&own_length)});
    std::string own(own_length, '\0');
    run_set_up(CommKind::kScatter, std::move(text_parts), {bytes_of(own.data(), own.size())});
    return own;
  }

  void barrier() override { run_set_up(CommKind::kBarrier, {}, {}); }

  void set_time_limit(double seconds) override { engine_->set_time_limit(seconds); }
  void note_progress() override { engine_->note_progress(); }
  void interrupt() override { engine_->interrupt(); }
  [[noreturn]] void abort(int status) override {
    const auto token = engine_->token(kAbortPatience);
    wire_->abort_others(status);
    std::_Exit(status);
  }

 private:
  /// Returns the group of a call. Throws if this rank is no member, or the call does not fit the
  /// group.
  [[nodiscard]] const Group& group_for(const Call& call) {
    if (call.group >= groups_.size() || !groups_[call.group]->is_member()) {
      throw et_schema::run_failed(
          "a communication outside of its group",
          {.rank = rank(),
           .field = "group",
           .expected = "a group that was made, with this rank in it",
           .got = call.group >= groups_.size()
                      ? fmt::format("{} of {}", call.group, groups_.size())
                      : to_text(groups_[call.group]->name, groups_[call.group]->ranks)});
    }
    const Group& group = *groups_[call.group];
    check_call(call, group.place(rank()));
    return group;
  }

  // Opening a channel may block. So a call with a time limit first checks that each member has
  // arrived with the same ranks.
  void check_same_everywhere(const std::string& name, const std::vector<int>& ranks) {
    const std::string own = to_text(name, ranks);
    const std::vector<std::string> all = all_gather_text(own);
    const auto other = std::ranges::find_if(all, [&](const auto& text) { return text != own; });
    if (other != all.end()) {
      throw et_schema::run_failed(
          "ranks make different process groups",
          {.rank = rank(),
           .field = own,
           .expected = "the same group on all ranks, in the same order of making",
           .got = fmt::format("{} on rank {}", *other, other - all.begin())});
    }
  }

  /// Makes a group; opens its channels if this rank is a member.
  [[nodiscard]] std::unique_ptr<Group> make(GroupId id, const std::string& name,
                                            std::vector<int> ranks) {
    auto group = std::make_unique<Group>();
    group->id = id;
    group->name = name;
    group->ranks = std::move(ranks);
    const auto self = std::ranges::find(group->ranks, rank());
    if (self != group->ranks.end()) {
      group->rank = static_cast<int>(self - group->ranks.begin());
      group->collectives = wire_->open(kChannelsOfGroup * id, group->ranks);
      group->messages = wire_->open(kChannelsOfGroup * id + 1, group->ranks);
    }
    return group;
  }

  /// Inputs are only read.
  template <typename Item>
  [[nodiscard]] static Buffer bytes_of(const Item* items, std::size_t count = 1) {
    return {const_cast<Item*>(items), static_cast<std::int64_t>(count * sizeof(Item)),
            et_schema::DType::kUInt8};
  }

  /// Runs a call of the job itself.
  void run_set_up(CommKind kind, std::vector<Buffer> inputs, std::vector<Buffer> outputs) {
    engine_->run({.kind = kind, .inputs = std::move(inputs), .outputs = std::move(outputs)},
                 *set_up_);
  }

  std::unique_ptr<Wire> wire_;
  int exceptions_at_start_ = 0;
  std::vector<std::int64_t> pids_here_;  ///< by rank; 0: on another host
  std::deque<std::unique_ptr<Group>> groups_;
  /// The group for texts and barriers of the job itself, which programs cannot use.
  std::unique_ptr<Group> set_up_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Backend> make_ranks_backend(std::unique_ptr<Wire> wire,
                                            const BackendOptions& options) {
  return std::make_unique<RanksBackend>(std::move(wire), options);
}

}  // namespace understudy::backends
