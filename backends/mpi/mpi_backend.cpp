#include "mpi_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <set>

#include "backends/check_call.h"
#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "mpi_error.h"

namespace understudy::backends {

using et_schema::CommKind;
using et_schema::DType;

namespace {

constexpr int kSmallestTagLimit = 32767;  // the least that the standard promises
constexpr GroupId kSetUpGroup = std::numeric_limits<GroupId>::max();
constexpr std::chrono::milliseconds kAbortPatience{500};

class MpiWork : public Work {
 public:
  MpiWork(std::weak_ptr<Engine> engine, std::shared_ptr<Operation> operation)
      : engine_(std::move(engine)), operation_(std::move(operation)) {}
  MpiWork(const MpiWork&) = delete;
  MpiWork& operator=(const MpiWork&) = delete;
  ~MpiWork() override {
    if (const std::shared_ptr<Engine> engine = engine_.lock()) {
      engine->let_go(*operation_);
    }
  }
  [[nodiscard]] Operation& operation() const { return *operation_; }

 private:
  std::weak_ptr<Engine> engine_;
  std::shared_ptr<Operation> operation_;
};

[[nodiscard]] int tag_limit() {
  void* value = nullptr;
  int is_set = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &is_set),
            "MPI_Comm_get_attr");
  return is_set != 0 ? *static_cast<int*>(value) : kSmallestTagLimit;
}

[[nodiscard]] MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm twin = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &twin), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return twin;
}

[[nodiscard]] std::vector<ProcessId> processes_of_ranks(int world_size) {
  const ProcessId own = own_process();
  std::vector<ProcessId> all(static_cast<std::size_t>(world_size));
  check_mpi(MPI_Allgather(&own, sizeof(ProcessId), MPI_BYTE, all.data(), sizeof(ProcessId),
                          MPI_BYTE, MPI_COMM_WORLD),
            "MPI_Allgather");
  return all;
}

[[nodiscard]] std::string to_text(const std::string& name, const std::vector<int>& ranks) {
  return fmt::format("group '{}' of ranks [{}]", name, fmt::join(ranks, ", "));
}

}  // namespace

MpiSession::MpiSession() {
  int is_initialized = 0;
  check_mpi(MPI_Initialized(&is_initialized), "MPI_Initialized");
  int provided = MPI_THREAD_SINGLE;
  if (is_initialized != 0) {
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    // Not MPI_THREAD_MULTIPLE: only one thread at a time calls MPI, and MPI's locks would cost
    // every call.
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
              "MPI_Init_thread");
    finalize_ = true;
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (provided < MPI_THREAD_SERIALIZED) {
    et_schema::ErrorContext context;
    context.expected = "MPI_THREAD_SERIALIZED";
    context.got = fmt::format("thread level {}", provided);
    context.hint = "use an MPI library that was built with thread support";
    throw et_schema::usage_error("the MPI library cannot be called from threads",
                                 std::move(context));
  }
}

MpiSession::~MpiSession() {
  if (finalize_) {
    MPI_Finalize();
  }
}

MpiBackend::MpiBackend(const BackendOptions& options)
    : exceptions_at_start_(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world_size_), "MPI_Comm_size");
  groups_.push_back(whole_world(0, "world"));
  set_up_ = whole_world(kSetUpGroup, "set-up of the job");
  board_comm_ = duplicate(MPI_COMM_WORLD);
  engine_ = std::make_shared<Engine>(
      rank_, tag_limit(), board_comm_, Processes(processes_of_ranks(world_size_)),
      options.time_limit_s, [this](GroupId id) { return find_group(id); });
}

MpiBackend::~MpiBackend() {
  const bool is_clean = engine_->is_idle() && std::uncaught_exceptions() <= exceptions_at_start_;
  engine_.reset();
  if (!is_clean) {
    session_.leave_unfinished();
    return;
  }
  for (const std::unique_ptr<Group>& group : groups_) {
    free_communicators(*group);
  }
  free_communicators(*set_up_);
  MPI_Comm_free(&board_comm_);
}

std::string MpiBackend::version() const {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string_view whole(text.data(), static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.find_first_of(",\n")));
}

std::string MpiBackend::host() const {
  std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
  return std::string(text.data(), static_cast<std::size_t>(length));
}

GroupId MpiBackend::make_group(const std::string& name, std::span<const int> ranks) {
  auto group = std::make_unique<Group>();
  group->name = name;
  group->ranks.assign(ranks.begin(), ranks.end());
  if (group->ranks.empty()) {
    group->ranks = groups_.front()->ranks;
  }
  const std::set<int> distinct(group->ranks.begin(), group->ranks.end());
  if (distinct.size() != group->ranks.size() || *distinct.begin() < 0 ||
      *distinct.rbegin() >= world_size_) {
    et_schema::ErrorContext context;
    context.rank = rank_;
    context.field = fmt::format("ranks of group '{}'", name);
    context.expected = fmt::format("distinct ranks from 0 to {}", world_size_ - 1);
    context.got = fmt::format("[{}]", fmt::join(group->ranks, ", "));
    throw et_schema::run_failed("a process group that the job cannot have", std::move(context));
  }
  check_same_everywhere(name, group->ranks);
  const auto id = static_cast<GroupId>(groups_.size());
  engine_->with_token([&] {
    make_communicators(*group, id);
    groups_.push_back(std::move(group));
  });
  return id;
}

// Making a communicator blocks in MPI. So a call with a time limit checks before that each member
// is here with the same ranks.
void MpiBackend::check_same_everywhere(const std::string& name, const std::vector<int>& ranks) {
  const std::string own = to_text(name, ranks);
  const std::vector<std::string> all = all_gather_text(own);
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const std::string& text) { return text != own; });
  if (other != all.end()) {
    et_schema::ErrorContext context;
    context.rank = rank_;
    context.field = own;
    context.expected = "the same group on all ranks, in the same order of making";
    context.got = fmt::format("{} on rank {}", *other, other - all.begin());
    throw et_schema::run_failed("ranks make different process groups", std::move(context));
  }
}

void MpiBackend::make_communicators(Group& group, GroupId id) const {
  group.id = id;
  group.sends.resize(group.ranks.size());
  group.receives.resize(group.ranks.size());
  const auto self = std::find(group.ranks.begin(), group.ranks.end(), rank_);
  if (self == group.ranks.end()) {
    return;
  }
  group.rank = static_cast<int>(self - group.ranks.begin());
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(world, group.size(), group.ranks.data(), &members), "MPI_Group_incl");
  const int tag = static_cast<int>(id % static_cast<GroupId>(kSmallestTagLimit));
  check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &group.collectives),
            "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(group.collectives, MPI_ERRORS_RETURN),
            "MPI_Comm_set_errhandler");
  group.messages = duplicate(group.collectives);
  check_mpi(MPI_Group_free(&members), "MPI_Group_free");
  check_mpi(MPI_Group_free(&world), "MPI_Group_free");
}

std::unique_ptr<Group> MpiBackend::whole_world(GroupId id, const std::string& name) const {
  auto group = std::make_unique<Group>();
  group->id = id;
  group->name = name;
  group->rank = rank_;
  group->ranks.resize(static_cast<std::size_t>(world_size_));
  std::iota(group->ranks.begin(), group->ranks.end(), 0);
  group->sends.resize(group->ranks.size());
  group->receives.resize(group->ranks.size());
  group->collectives = duplicate(MPI_COMM_WORLD);
  group->messages = duplicate(MPI_COMM_WORLD);
  return group;
}

void MpiBackend::free_communicators(Group& group) {
  if (group.collectives != MPI_COMM_NULL) {
    MPI_Comm_free(&group.collectives);
    MPI_Comm_free(&group.messages);
  }
}

Group& MpiBackend::group_for(const Call& call) {
  if (call.group >= groups_.size() || !groups_[call.group]->is_member()) {
    et_schema::ErrorContext context;
    context.rank = rank_;
    context.field = "group";
    context.expected = "a group that was made, with this rank in it";
    context.got = call.group >= groups_.size()
                      ? fmt::format("{} of {}", call.group, groups_.size())
                      : to_text(groups_[call.group]->name, groups_[call.group]->ranks);
    throw et_schema::run_failed("a communication outside of its group", std::move(context));
  }
  Group& group = *groups_[call.group];
  check_call(call, group.place(rank_));
  return group;
}

const Group* MpiBackend::find_group(GroupId id) const {
  if (id == kSetUpGroup) {
    return set_up_.get();
  }
  return id < groups_.size() ? groups_[id].get() : nullptr;
}

std::unique_ptr<Work> MpiBackend::start(const Call& call) {
  Group& group = group_for(call);
  return std::make_unique<MpiWork>(engine_, engine_->start(call, group));
}

void MpiBackend::wait(std::unique_ptr<Work> work) {
  const auto* mine = dynamic_cast<MpiWork*>(work.get());
  UNDERSTUDY_ASSERT(mine != nullptr);
  engine_->wait(mine->operation());
}

void MpiBackend::run(const Call& call) {
  Group& group = group_for(call);
  engine_->run(call, group);
}

std::vector<std::string> MpiBackend::all_gather_text(const std::string& text) {
  const auto size = static_cast<std::size_t>(world_size_);
  auto length = static_cast<std::int64_t>(text.size());
  std::vector<std::int64_t> lengths(size);
  Call sizes;
  sizes.kind = CommKind::kAllGatherBase;
  sizes.inputs = {{&length, 1, DType::kInt64}};
  sizes.outputs = {{lengths.data(), world_size_, DType::kInt64}};
  engine_->run(sizes, *set_up_);

  std::vector<std::string> texts(size);
  std::string own = text;
  Call content;
  content.kind = CommKind::kAllGather;
  content.inputs = {{own.data(), length, DType::kUInt8}};
  for (std::size_t i = 0; i < size; ++i) {
    texts[i].resize(static_cast<std::size_t>(lengths[i]));
    content.outputs.push_back({texts[i].data(), lengths[i], DType::kUInt8});
  }
  engine_->run(content, *set_up_);
  return texts;
}

void MpiBackend::barrier() {
  Call call;
  call.kind = CommKind::kBarrier;
  engine_->run(call, *set_up_);
}

void MpiBackend::abort(int status) {
  engine_->with_token_or_without(kAbortPatience, [status] { MPI_Abort(MPI_COMM_WORLD, status); });
  std::_Exit(status);
}

}  // namespace understudy::backends
