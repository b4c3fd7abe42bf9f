#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cannot_use.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "issue.h"
#include "lane.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/device_communicator.h"
#include "watch_lanes.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DeviceType;

class NcclWork : public Work {
 public:
  explicit NcclWork(CudaEvent done) : done_(done) {}
  [[nodiscard]] CudaEvent done() const { return done_; }

 private:
  CudaEvent done_;
};

constexpr LaneKey kWorldLane{};
/// Limit of communicators that are set up at the same time: each is a thread of NCCL.
constexpr std::size_t kMostBegun = 64;

/// Returns the world ranks of a lane, in its order.
std::vector<int> members_of(const LaneKey& key, const std::vector<int>& group) {
  if (!key.is_of_messages()) {
    return group;
  }
  return {group[static_cast<std::size_t>(key.source)], group[static_cast<std::size_t>(key.target)]};
}

/// NCCL beside a backend through which the ranks connect. The collectives and batches of each group
/// have a communicator and a stream; so do the single messages of each pair of ranks, or of each
/// direction.
class NcclCommunicator : public DeviceCommunicator {
 public:
  NcclCommunicator(Backend& host, const DeviceOptions& options)
      : host_(host),
        context_(cuda_.current_context()),
        options_(options),
        exceptions_at_start_(std::uncaught_exceptions()),
        watch_(cuda_, nccl_, host.rank(), options.time_limit_s) {
    std::vector<int> world(static_cast<std::size_t>(host.world_size()));
    std::iota(world.begin(), world.end(), 0);
    places_[0] = {host.rank(), "world", host.rank(), host.world_size()};
    ranks_[0] = std::move(world);
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
  [[nodiscard]] std::string version() const override { return nccl_.version(); }
  void set_time_limit(double seconds) override { watch_.set_time_limit(seconds); }

  /// Accepts all calls in device memory except messages to this rank, messages with a tag, and
  /// reductions that NCCL lacks.
  [[nodiscard]] bool takes(const Call& call) const override {
    if (call.memory != DeviceType::kCuda) {
      return host_.takes(call);
    }
    const auto place = places_.find(call.group);
    if (place == places_.end()) {
      return false;
    }
    if (et_schema::is_message(call.kind)) {
      return call.root_or_peer != place->second.group_rank && call.tag == 0;
    }
    return !et_schema::traits(call.kind).reduces ||
           nccl_reduction(dtype_of(call), call.op, call.factor);
  }

  void prepare(std::span<const Call> calls) override {
    std::set<LaneKey> own;
    for (const Call& call : calls) {
      if (call.memory == DeviceType::kCuda) {
        own.insert(lane_of(call, place_of(call).group_rank));
      }
    }
    const std::set<LaneKey> all = parse_lanes(host_.all_gather_text(to_text(own)));
    std::set<LaneKey> by_id;
    std::ranges::set_difference(all, known_, std::inserter(by_id, by_id.end()));
    known_.insert(by_id.begin(), by_id.end());
    std::set<LaneKey> by_split;
    if (nccl_.can_split() && known_.contains(kWorldLane)) {
      std::ranges::copy_if(by_id, std::inserter(by_split, by_split.end()), [](const LaneKey& key) {
        return !key.is_of_messages() && key != kWorldLane;
      });
      std::erase_if(by_id, [&](const LaneKey& key) { return by_split.contains(key); });
    }
    open_lanes(by_id);
    split_lanes(std::move(by_split));
  }

  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override {
    const GroupId id = host_.make_group(name, ranks);
    std::vector<int> members(ranks.begin(), ranks.end());
    if (members.empty()) {
      members = ranks_[0];
    }
    const auto self = std::ranges::find(members, host_.rank());
    if (self != members.end()) {
      places_[id] = {host_.rank(), name, static_cast<int>(self - members.begin()),
                     static_cast<int>(members.size())};
    }
    ranks_[id] = std::move(members);
    return id;
  }

  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override {
    if (call.memory != DeviceType::kCuda) {
      return host_.start(call);
    }
    Lane& lane = lane_for(call);
    cuda_.use(context_);
    register_buffers(lane, call);
    lane.follow(stream());
    issue(call, cuda_, nccl_, watch_, lane);
    lane.note(call.kind);
    const CudaEvent done = take_event();
    cuda_.record(done, lane.stream());
    return std::make_unique<NcclWork>(done);
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
    cuda_.use(context_);
    Lane& lane = lane_for(*on_device.front());
    for (const Call* const call : on_device) {
      UNDERSTUDY_ASSERT(&lane_for(*call) == &lane);
      register_buffers(lane, *call);
    }
    lane.follow(stream());
    issue_batch(on_device, cuda_, nccl_, watch_, lane);
    for (std::unique_ptr<Work>& work : works) {
      if (work == nullptr) {
        lane.note(on_device.front()->kind);
        work = std::make_unique<NcclWork>(take_event());
        cuda_.record(static_cast<NcclWork&>(*work).done(), lane.stream());
      }
    }
    return works;
  }

  Ended wait(std::unique_ptr<Work> work) override {
    const auto* const mine = dynamic_cast<NcclWork*>(work.get());
    if (mine == nullptr) {
      return host_.wait(std::move(work));
    }
    watch_.check();
    cuda_.use(context_);
    cuda_.wait(stream(), mine->done());
    free_events_.push_back(mine->done());
    return std::nullopt;  // the device may not have completed the call yet
  }

  void run(const Call& call) override {
    if (call.memory != DeviceType::kCuda) {
      host_.run(call);
      return;
    }
    wait(start(call));
    if (call.kind == CommKind::kBarrier) {  // the only call that hosts wait for, too
      cuda_.synchronize(stream());
      watch_.check();
    }
  }

  void interrupt() override {
    watch_.interrupt();
    host_.interrupt();
  }

 private:
  /// Waits for the work in progress, as long as the watch allows.
  void finish() noexcept {
    try {
      cuda_.use(context_);
      for (const auto& [key, lane] : lanes_) {
        cuda_.synchronize(lane->stream());
      }
      for (const auto& [key, lane] : lanes_) {
        const LaneWatch::Calls calls(watch_);
        lane->finalize();
      }
      for (const auto& [key, lane] : lanes_) {
        watch_.wait_until_ready(*lane);
      }
    } catch (const et_schema::Error&) {  // all work was aborted, or the device is lost
    }
  }

  /// Opens lanes, several at the same time.
  void open_lanes(const std::set<LaneKey>& keys) {
    std::deque<const Lane*> begun;
    // All ranks use the same order, so that all ranks of the first lane that is not open have begun
    // it.
    for (const auto& [key, id] : exchange_ids(keys)) {
      Lane* const lane = make_lane(key);
      if (lane == nullptr) {
        continue;
      }
      {
        const LaneWatch::Calls calls(watch_);
        lane->meet(id);
      }
      watch_.add(*lane);
      begun.push_back(lane);
      if (begun.size() == kMostBegun) {
        watch_.wait_until_ready(*begun.front());
        begun.pop_front();
      }
    }
    for (const Lane* const lane : begun) {
      watch_.wait_until_ready(*lane);
    }
  }

  /// Opens the lanes of groups by splitting the communicator of all ranks.
  void split_lanes(std::set<LaneKey> keys) {
    if (keys.empty()) {
      return;
    }
    const Lane& world = *lanes_.at(kWorldLane);
    while (!keys.empty()) {
      // One split makes all groups without a common rank.
      std::set<int> taken;
      Lane* own = nullptr;
      int own_color = 0;
      int colors = 0;
      std::erase_if(keys, [&](const LaneKey& key) {
        const std::vector<int>& members = ranks_.at(key.group);
        const auto is_taken = [&](int rank) { return taken.contains(rank); };
        if (std::ranges::any_of(members, is_taken)) {
          return false;
        }
        taken.insert(members.begin(), members.end());
        if (Lane* const lane = make_lane(key)) {
          own = lane;
          own_color = colors;
        }
        ++colors;
        return true;
      });
      {
        const LaneWatch::Calls calls(watch_);
        own == nullptr ? nccl_.leave_split(world.comm()) : own->split_off(world, own_color);
      }
      watch_.wait_until_ready(world);
      if (own != nullptr) {
        watch_.wait_until_ready(*own);
        watch_.add(*own);
      }
    }
  }

  /// Returns the ids of these lanes; the first rank of each lane makes its id.
  [[nodiscard]] std::map<LaneKey, NcclId> exchange_ids(const std::set<LaneKey>& keys) {
    std::string own;
    for (const LaneKey& key : keys) {
      if (members_of(key, ranks_.at(key.group)).front() == host_.rank()) {
        const NcclId id = nccl_.make_id();
        own.append(id.bytes.data(), id.bytes.size());
      }
    }
    const std::vector<std::string> texts = host_.all_gather_text(own);
    std::vector<std::size_t> read(texts.size());
    std::map<LaneKey, NcclId> ids;
    for (const LaneKey& key : keys) {
      const auto maker = static_cast<std::size_t>(members_of(key, ranks_.at(key.group)).front());
      UNDERSTUDY_ASSERT(read[maker] + kNcclIdBytes <= texts[maker].size());
      texts[maker].copy(ids[key].bytes.data(), kNcclIdBytes, read[maker]);
      read[maker] += kNcclIdBytes;
    }
    return ids;
  }

  /// Makes a lane; returns null if this rank is not in it.
  [[nodiscard]] Lane* make_lane(const LaneKey& key) {
    const std::vector<int> members = members_of(key, ranks_.at(key.group));
    const auto self = std::ranges::find(members, host_.rank());
    if (self == members.end()) {
      return nullptr;
    }
    cuda_.use(context_);
    const std::string& group = places_.at(key.group).group_name;
    auto made = std::make_unique<Lane>(
        cuda_, nccl_, options_,
        key.is_of_messages() ? fmt::format("rank {} {} rank {} in group '{}'", members.front(),
                                           key.is_of_both ? "and" : "to", members.back(), group)
                             : fmt::format("group '{}'", group),
        static_cast<int>(members.size()), static_cast<int>(self - members.begin()));
    return (lanes_[key] = std::move(made)).get();
  }

  [[nodiscard]] const CallPlace& place_of(const Call& call) const {
    const auto place = places_.find(call.group);
    if (place == places_.end()) {
      throw et_schema::run_failed("a communication outside of its group",
                                  {.rank = host_.rank(),
                                   .field = "group",
                                   .expected = "a group that was made, with this rank in it",
                                   .got = std::to_string(call.group)});
    }
    return place->second;
  }

  [[nodiscard]] Lane& lane_for(const Call& call) {
    const CallPlace& place = place_of(call);
    check_call(call, place);
    UNDERSTUDY_ASSERT(takes(call));
    const auto lane = lanes_.find(lane_of(call, place.group_rank));
    UNDERSTUDY_ASSERT(lane != lanes_.end());  // prepare() has opened it
    return *lane->second;
  }

  [[nodiscard]] CudaEvent take_event() {
    if (free_events_.empty()) {
      events_.push_back(cuda_.make_event());
      return events_.back().get();
    }
    const CudaEvent event = free_events_.back();
    free_events_.pop_back();
    return event;
  }

  void register_buffers(Lane& lane, const Call& call) const {
    if (!options_.registers_buffers) {
      return;
    }
    const LaneWatch::Calls calls(watch_);
    for (const std::vector<Buffer>* const buffers : {&call.inputs, &call.outputs}) {
      for (const Buffer& buffer : *buffers) {
        lane.register_buffer(buffer);
      }
    }
  }

  Backend& host_;
  CudaDriver cuda_{cannot_use("CUDA's driver", "The driver comes with the GPU's system.")};
  NcclLibrary nccl_;
  CudaContext context_;
  [[nodiscard]] CudaStream stream() const {
    return options_.stream ? static_cast<CudaStream>(options_.stream()) : nullptr;
  }

  DeviceOptions options_;
  int exceptions_at_start_;
  std::map<GroupId, CallPlace> places_;
  std::map<GroupId, std::vector<int>> ranks_;  ///< world ranks in group order
  std::set<LaneKey> known_;                    ///< keys of all ranks
  std::vector<CudaDriver::Event> events_;
  std::vector<CudaEvent> free_events_;
  std::map<LaneKey, std::unique_ptr<Lane>> lanes_;  // destroyed before the events they record
  LaneWatch watch_;                                 // destroyed before the lanes
};

}  // namespace
}  // namespace understudy::backends

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}

extern "C" understudy::backends::DeviceCommunicator* understudy_make_device_communicator(
    understudy::backends::Backend& host, const understudy::backends::DeviceOptions& options) {
  return std::make_unique<understudy::backends::NcclCommunicator>(host, options).release();
}
