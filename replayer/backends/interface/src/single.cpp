#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::backends {

using et_schema::CommSizes;

namespace {

[[nodiscard]] std::byte* bytes_of(const Buffer& buffer) {
  return static_cast<std::byte*>(buffer.data);
}

[[nodiscard]] std::size_t unsigned_size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

DeviceMoves host_moves(std::vector<std::byte>& staging) {
  staging.resize(unsigned_size(kStagingBytes));
  return {[](void* to, const void* from, std::size_t bytes) { std::memmove(to, from, bytes); },
          [](void* to, std::size_t bytes) { std::memset(to, 0, bytes); }, staging.data()};
}

[[nodiscard]] Buffer part(const Buffer& whole, std::int64_t index, std::int64_t count) {
  return Buffer{bytes_of(whole) + index * count * et_schema::item_size(whole.dtype), count,
                whole.dtype};
}

struct TimedWork : Work {
  explicit TimedWork(std::chrono::steady_clock::time_point end) : ends(end) {}
  explicit TimedWork(DeviceMoves::Join joined) : join(std::move(joined)) {}
  std::chrono::steady_clock::time_point ends;
  DeviceMoves::Join join;  ///< if the call runs on a stream of the device
};

/// sleep_until() ends late by about this much.
constexpr std::chrono::microseconds kSleepSlack{100};

void wait_until(std::chrono::steady_clock::time_point end) {
  std::this_thread::sleep_until(end - kSleepSlack);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
}

class SingleBackend : public Backend {
 public:
  explicit SingleBackend(const BackendOptions& options)
      : rank_(options.rank),
        world_size_(options.world_size),
        reads_sent_(options.reads_sent),
        on_host_(host_moves(staging_)),
        on_device_(options.device_moves) {
    UNDERSTUDY_ASSERT(world_size_ >= 1 && rank_ >= 0 && rank_ < world_size_);
    add_group("world", {});
  }

  [[nodiscard]] std::string name() const override { return "single"; }
  [[nodiscard]] std::string version() const override { return {}; }  // a report has the tool's
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 1; }

  [[nodiscard]] bool takes(const Call& call) const override {
    return call.memory == et_schema::DeviceType::kCpu ||
           (call.memory == et_schema::DeviceType::kCuda && on_device_);
  }

  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override {
    return add_group(name, ranks);
  }

  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override {
    const Clock::time_point issued = Clock::now();
    if (call.lasts.count() > 0 && call.memory == et_schema::DeviceType::kCuda &&
        on_device_->beside != nullptr) {
      return std::make_unique<TimedWork>(
          on_device_->beside(call.group, call.lasts, [&] { move_checked(call); }));
    }
    move_checked(call);
    if (call.lasts.count() == 0) {
      return std::make_unique<TimedWork>(Clock::time_point());
    }
    Clock::time_point& ends = ends_[call.group];
    ends = std::max(ends, issued) + call.lasts;
    return std::make_unique<TimedWork>(ends);
  }

  Ended wait(std::unique_ptr<Work> work) override {
    UNDERSTUDY_ASSERT(work != nullptr);
    const auto& timed = static_cast<const TimedWork&>(*work);
    const Clock::time_point ends = timed.ends;
    if (timed.join != nullptr) {
      timed.join();
    }
    if (ends == Clock::time_point()) {
      return std::nullopt;
    }
    wait_until(ends);
    return ends;
  }

  [[nodiscard]] std::vector<std::string> all_gather_text(const std::string& text) override {
    return {text};
  }
  void barrier() override {}
  [[noreturn]] void abort(int status) override { std::_Exit(status); }

 private:
  using Clock = std::chrono::steady_clock;

  void move_checked(const Call& call) {
    if (call.group >= groups_.size()) {
      throw et_schema::run_failed(
          "a communication of an unknown group",
          {.field = "group",
           .expected = fmt::format("a group that was made, 0 to {}", groups_.size() - 1),
           .got = fmt::format("{}", call.group)});
    }
    check_call(call, groups_[call.group]);
    UNDERSTUDY_ASSERT(takes(call));
    moves_ = call.memory == et_schema::DeviceType::kCpu ? &on_host_ : &*on_device_;
    move(call, groups_[call.group]);
  }

  GroupId add_group(const std::string& name, std::span<const int> ranks) {
    CallPlace place;
    place.world_rank = rank_;
    place.group_name = name;
    if (ranks.empty()) {
      place.group_rank = rank_;
      place.group_size = world_size_;
    } else {
      const auto self = std::find(ranks.begin(), ranks.end(), rank_);
      place.group_rank = self == ranks.end() ? 0 : static_cast<int>(self - ranks.begin());
      place.group_size = static_cast<int>(ranks.size());
    }
    groups_.push_back(place);
    ends_.emplace_back();
    return static_cast<GroupId>(groups_.size() - 1);
  }

  void move(const Call& call, const CallPlace& place) {
    const auto self = static_cast<std::size_t>(place.group_rank);
    const auto size = static_cast<std::size_t>(place.group_size);
    const bool is_root = call.root_or_peer == place.group_rank;
    const bool is_send = call.kind == et_schema::CommKind::kSend;
    const std::size_t outputs = call.outputs.size();
    switch (et_schema::traits(call.kind).sizes) {
      case CommSizes::kPairs:
        return copy_each(call, place);
      case CommSizes::kOutputsOfRoot:
        if (!is_root) {
          pass(call.inputs[0]);
        }
        [[fallthrough]];
      case CommSizes::kOutputPerRank:
      case CommSizes::kOutputOfAll:
      case CommSizes::kEqualParts:
      case CommSizes::kSplits:
        for (std::size_t i = 0; i < outputs; ++i) {
          copy_cyclically(call.inputs[i * call.inputs.size() / outputs], call.outputs[i]);
        }
        return;
      case CommSizes::kInputOfAll:
        for (std::size_t i = 0; i < outputs; ++i) {
          copy(part(call.inputs[i], place.group_rank, call.outputs[i].count), call.outputs[i]);
        }
        return;
      case CommSizes::kInputsOfRoot:
        if (!is_root) {
          return fill_zeros(call.outputs[0]);
        }
        [[fallthrough]];
      case CommSizes::kInputPerRank:
        for (std::size_t i = 0; i < outputs; ++i) {
          copy(call.inputs[i * size + self], call.outputs[i]);
        }
        return;
      case CommSizes::kMessage:
        // A send may name its input as output, too.
        std::ranges::for_each(is_send ? call.inputs : call.outputs, [&](const Buffer& buffer) {
          is_send ? pass(buffer) : fill_zeros(buffer);
        });
        return;
      case CommSizes::kNone:
      case CommSizes::kNoCommunication:
        return;
    }
  }

  /// Copies as many bytes as both buffers hold.
  void copy(const Buffer& from, const Buffer& to) const {
    const std::int64_t bytes = std::min(size_bytes(from), size_bytes(to));
    if (bytes > 0 && from.data != to.data) {
      moves_->copy(to.data, from.data, unsigned_size(bytes));
    }
  }

  void fill_zeros(const Buffer& to) const {
    if (to.count > 0) {
      moves_->fill_zeros(to.data, unsigned_size(size_bytes(to)));
    }
  }

  /// Fills `to` with repetitions of `from`, which may be one of them, or with zeros if `from` is
  /// empty.
  void copy_cyclically(const Buffer& from, const Buffer& to) const {
    if (from.count == 0) {
      fill_zeros(to);
      return;
    }
    copy(from, to);
    // The filled part is a whole number of repetitions, so it can be copied to the rest.
    const std::int64_t total = size_bytes(to);
    std::int64_t filled = size_bytes(from);
    while (filled < total) {
      const std::int64_t piece = std::min(filled, total - filled);
      moves_->copy(bytes_of(to) + filled, bytes_of(to), unsigned_size(piece));
      filled += piece;
    }
  }

  void copy_each(const Call& call, const CallPlace& place) const {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      copy(call.inputs[i], call.outputs[i]);
      if (place.group_size > 1) {
        pass(call.outputs[i]);
      }
    }
  }

  /// Reads the buffer once into memory that stays in the cache, as a send would.
  void pass(const Buffer& buffer) const {
    const std::int64_t total = reads_sent_ ? size_bytes(buffer) : 0;
    for (std::int64_t at = 0; at < total; at += kStagingBytes) {
      moves_->copy(moves_->staging, bytes_of(buffer) + at,
                   unsigned_size(std::min(kStagingBytes, total - at)));
    }
  }

  int rank_;
  int world_size_;
  bool reads_sent_;
  std::vector<CallPlace> groups_;
  std::vector<Clock::time_point> ends_;  ///< by group: end of its last simulated call
  std::vector<std::byte> staging_;
  DeviceMoves on_host_;
  std::optional<DeviceMoves> on_device_;
  const DeviceMoves* moves_ = nullptr;  ///< set only during a call
};

}  // namespace

std::unique_ptr<Backend> make_single_backend(const BackendOptions& options) {
  return std::make_unique<SingleBackend>(options);
}

}  // namespace understudy::backends
