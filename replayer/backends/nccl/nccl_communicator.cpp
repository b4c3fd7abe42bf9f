#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "group_watch.h"
#include "id_store.h"
#include "nccl_calls.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/device_communicator.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DeviceType;

struct NcclWork : Work {
  explicit NcclWork(Works issued) : works(std::move(issued)) {}
  Works works;
};

/// A communicator of NCCL: the one of a group's collectives and batches, or of the single messages
/// of a pair of its ranks. Messages whose order is known in their direction only have a second
/// process group for those from a higher rank to a lower one.
struct Connection {
  GroupId group = 0;
  int low = -1;  ///< ranks in the group; -1: all
  int high = -1;
  bool is_downwards = false;
  auto operator<=>(const Connection&) const = default;
};

Connection connection_of(const Call& call, int group_rank) {
  if (!et_schema::is_message(call.kind) || call.path == MessagePath::kBatch) {
    return {.group = call.group};
  }
  const int peer = call.root_or_peer;
  const bool comes_down = (call.kind == CommKind::kSend) == (group_rank > peer);
  return {call.group, std::min(group_rank, peer), std::max(group_rank, peer),
          call.path == MessagePath::kDirection && comes_down};
}

std::string to_text(const std::set<Connection>& connections) {
  std::string text;
  for (const auto& [group, low, high, is_downwards] : connections) {
    text += fmt::format("{} {} {} {:d} ", group, low, high, is_downwards);
  }
  return text;
}

/// PyTorch's variables: errors come back here and never end the process, and nothing is written
/// beside the report.
void set_up_pytorch(const BackendOptions& options) {
  const std::string limit_s = fmt::format("{:.0f}", std::ceil(options.time_limit_s));
  for (const auto& [name, value] : std::map<const char*, std::string>{
           {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
           {"TORCH_NCCL_BLOCKING_WAIT", "0"},
           {"TORCH_NCCL_DUMP_ON_TIMEOUT", "0"},
           {"TORCH_NCCL_ENABLE_MONITORING", "0"},
           {"TORCH_NCCL_NONBLOCKING_TIMEOUT", limit_s},
           {"TORCH_NCCL_PROPAGATE_ERROR", "0"},
           {"TORCH_NCCL_RANKS_PER_ROOT", std::to_string(std::numeric_limits<int>::max())},
           {"TORCH_NCCL_RETHROW_CUDA_ERRORS", "0"}}) {
    setenv(name, value.c_str(), /*overwrite=*/1);
  }
}

/// Drops PyTorch's warning that the first message between two ranks makes a communicator.
class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

/// PyTorch's groups for NCCL, beside a backend through which the ranks meet.
class NcclCommunicator : public DeviceCommunicator {
 public:
  NcclCommunicator(Backend& host, const BackendOptions& options)
      : host_(host),
        device_(c10::DeviceType::CUDA, c10::cuda::current_device()),
        exceptions_at_start_(std::uncaught_exceptions()),
        watch_(host.rank(), options.time_limit_s) {
    std::vector<int> world(static_cast<std::size_t>(host.world_size()));
    std::iota(world.begin(), world.end(), 0);
    groups_[0] = {{host.rank(), "world", host.rank(), host.world_size()}, std::move(world)};
  }

  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_at_start_) {
      watch_.interrupt();  // others may never reach the end
    } else {
      finish();
    }
  }

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] std::string version() const override { return c10d::getNcclVersion(); }
  void set_time_limit(double seconds) override { watch_.set_time_limit(seconds); }

  /// Accepts all calls in device memory except messages to this rank, messages with a tag, and
  /// reductions that PyTorch lacks.
  [[nodiscard]] bool takes(const Call& call) const override {
    if (call.memory != DeviceType::kCuda) {
      return host_.takes(call);
    }
    const auto group = groups_.find(call.group);
    if (group == groups_.end() || group->second.place.group_rank < 0) {
      return false;
    }
    if (et_schema::is_message(call.kind)) {
      return call.root_or_peer != group->second.place.group_rank && call.tag == 0;
    }
    return !et_schema::traits(call.kind).reduces || reduces_on_device(call);
  }

  void prepare(std::span<const Call> calls) override {
    std::set<Connection> own;
    for (const Call& call : calls) {
      if (call.memory == DeviceType::kCuda) {
        own.insert(connection_of(call, place_of(call).group_rank));
      }
    }
    NoWarnings none;
    const c10::WarningUtils::WarningHandlerGuard quiet(&none);
    // All ranks open them in the same order.
    std::set<Connection> all;
    for (const std::string& text : host_.all_gather_text(to_text(own))) {
      std::istringstream words(text);
      for (Connection each; words >> each.group >> each.low >> each.high >> each.is_downwards;) {
        all.insert(each);
      }
    }
    for (const Connection& connection : all) {
      if (known_.insert(connection).second) {
        open(connection);
      }
    }
  }

  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override {
    const GroupId id = host_.make_group(name, ranks);
    std::vector<int> members(ranks.begin(), ranks.end());
    if (members.empty()) {
      members = groups_[0].ranks;
    }
    const auto self = std::ranges::find(members, host_.rank());
    const int rank = self == members.end() ? -1 : static_cast<int>(self - members.begin());
    const auto size = static_cast<int>(members.size());
    groups_[id] = {{host_.rank(), name, rank, size}, std::move(members)};
    return id;
  }

  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override {
    if (call.memory != DeviceType::kCuda) {
      return host_.start(call);
    }
    c10d::ProcessGroupNCCL& group = group_for(call);
    return std::make_unique<NcclWork>(
        watch_.guard([&] { return issue(call, group, device_, /*asynchronous=*/true); }));
  }

  [[nodiscard]] std::vector<std::unique_ptr<Work>> start_batch(
      std::span<const Call* const> calls) override {
    std::vector<std::unique_ptr<Work>> works(calls.size());
    std::vector<const Call*> on_device;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i]->memory != DeviceType::kCuda) {
        works[i] = host_.start(*calls[i]);
      } else {
        on_device.push_back(calls[i]);
      }
    }
    if (on_device.empty()) {
      return works;
    }
    c10d::ProcessGroupNCCL& group = group_for(*on_device.front());
    for (const Call* const call : on_device) {
      UNDERSTUDY_ASSERT(&group_for(*call) == &group);
    }
    const auto whole = watch_.guard([&] {
      group.startCoalescing();
      for (const Call* const call : on_device) {
        static_cast<void>(issue(*call, group, device_, /*asynchronous=*/true));
      }
      return group.endCoalescing();
    });
    for (std::unique_ptr<Work>& work : works) {
      if (work == nullptr) {
        work = std::make_unique<NcclWork>(Works{whole});
      }
    }
    return works;
  }

  Ended wait(std::unique_ptr<Work> work) override {
    auto* const mine = dynamic_cast<NcclWork*>(work.get());
    if (mine == nullptr) {
      return host_.wait(std::move(work));
    }
    watch_.guard([&] {
      for (const c10::intrusive_ptr<c10d::Work>& each : mine->works) {
        each->wait();  // the current stream waits, not the host
      }
    });
    return std::nullopt;  // the device may not have completed the call yet
  }

  void run(const Call& call) override {
    if (call.memory != DeviceType::kCuda) {
      host_.run(call);
      return;
    }
    c10d::ProcessGroupNCCL& group = group_for(call);
    watch_.guard([&] {
      for (const auto& work : issue(call, group, device_, /*asynchronous=*/false)) {
        work->wait();
      }
    });
    if (call.kind == CommKind::kBarrier) {  // the only call that hosts wait for, too
      c10::cuda::getCurrentCUDAStream().unwrap().synchronize();
      watch_.check();
    }
  }

  void interrupt() override {
    watch_.interrupt();
    host_.interrupt();
  }

 private:
  struct Group {
    CallPlace place;         ///< group_rank is -1 where this rank is not in it
    std::vector<int> ranks;  ///< world ranks in group order
    std::array<GroupWatch::Group, 2> upwards_and_downwards = {};
  };

  /// Waits for the work in progress, as long as the watch allows, and ends the groups.
  void finish() noexcept {
    try {
      c10::cuda::device_synchronize();
      watch_.check();
      for (const auto& [id, group] : groups_) {
        for (const GroupWatch::Group& each : group.upwards_and_downwards) {
          if (each != nullptr) {
            each->shutdown();
          }
        }
      }
    } catch (const std::exception&) {  // all work was aborted, or the device is lost
    }
  }

  /// Makes this rank's part of it, if it has one. PyTorch connects with the first call.
  void open(const Connection& connection) {
    Group& group = groups_.at(connection.group);
    const int rank = group.place.group_rank;
    const bool is_of_all = connection.low < 0;
    if (rank < 0 || (!is_of_all && rank != connection.low && rank != connection.high)) {
      return;
    }
    GroupWatch::Group& made = group.upwards_and_downwards[connection.is_downwards ? 1 : 0];
    if (made == nullptr) {
      made = make(group.place);
      watch_.add(made);
    }
    std::vector<int> members = group.ranks;
    if (!is_of_all) {
      members = {group.ranks[static_cast<std::size_t>(connection.low)],
                 group.ranks[static_cast<std::size_t>(connection.high)]};
    }
    ids_->set_members(std::move(members));
    std::vector<at::Tensor> byte = {
        at::empty({1}, at::TensorOptions().dtype(at::kByte).device(device_))};
    const bool sends = (rank == connection.low) != connection.is_downwards;
    const int peer = rank == connection.low ? connection.high : connection.low;
    watch_.guard([&] {
      (is_of_all ? made->allreduce(byte)
       : sends   ? made->send(byte, peer, 0)
                 : made->recv(byte, peer, 0))
          ->wait();
    });
    c10::cuda::getCurrentCUDAStream().unwrap().synchronize();
    watch_.check();
  }

  [[nodiscard]] GroupWatch::Group make(const CallPlace& place) const {
    const auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = watch_.time_limit();
    options->config.blocking = 0;  // so that connecting ends within the time limit
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(ids_, place.group_rank,
                                                             place.group_size, options);
    group->setGroupUid(place.group_name);
    group->setGroupDesc(place.group_name);
    return group;
  }

  [[nodiscard]] const CallPlace& place_of(const Call& call) const {
    const auto group = groups_.find(call.group);
    if (group == groups_.end() || group->second.place.group_rank < 0) {
      throw et_schema::run_failed("a communication outside of its group",
                                  {.rank = host_.rank(),
                                   .field = "group",
                                   .expected = "a group that was made, with this rank in it",
                                   .got = std::to_string(call.group)});
    }
    return group->second.place;
  }

  [[nodiscard]] c10d::ProcessGroupNCCL& group_for(const Call& call) {
    const CallPlace& place = place_of(call);
    check_call(call, place);
    UNDERSTUDY_ASSERT(takes(call));
    const Connection connection = connection_of(call, place.group_rank);
    UNDERSTUDY_ASSERT(known_.contains(connection));  // prepare() has opened it
    return *groups_.at(call.group).upwards_and_downwards[connection.is_downwards ? 1 : 0];
  }

  Backend& host_;
  c10::Device device_;
  int exceptions_at_start_;
  c10::intrusive_ptr<IdStore> ids_ = c10::make_intrusive<IdStore>(host_);
  std::map<GroupId, Group> groups_;
  std::set<Connection> known_;  ///< connections of all ranks
  GroupWatch watch_;            // destroyed before the groups
};

}  // namespace
}  // namespace understudy::backends

extern "C" understudy::backends::DeviceCommunicator* understudy_make_device_communicator(
    understudy::backends::Backend& host, const understudy::backends::BackendOptions& options) {
  understudy::backends::set_up_pytorch(options);
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  return std::make_unique<understudy::backends::NcclCommunicator>(host, options).release();
}
