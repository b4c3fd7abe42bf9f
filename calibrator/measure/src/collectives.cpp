#include "calibrator/measure/collectives.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/assert.h"
#include "replayer/device/device.h"

namespace understudy::calibrator {
namespace {

using backends::Buffer;
using et_schema::CommKind;
using et_schema::CommSizes;
using et_schema::DType;
using Clock = std::chrono::steady_clock;

/// Memory that calls read and write, grown as they need it; touched, so that no call meets pages
/// that the system has not handed out.
class Memory {
 public:
  explicit Memory(c10::Device device) : device_(device) {}

  Buffer part(std::int64_t begin, std::int64_t count, DType dtype) {
    const std::int64_t item = item_size(dtype);
    grow((begin + count) * item);
    return {static_cast<std::byte*>(bytes_.data_ptr()) + begin * item, count, dtype};
  }
  void grow(std::int64_t bytes) {
    if (!bytes_.defined() || bytes > bytes_.numel()) {
      bytes_ = at::Tensor();  // what there was goes first
      bytes_ = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_)).zero_();
    }
  }

 private:
  c10::Device device_;
  at::Tensor bytes_;
};

class CallMaker {
 public:
  explicit CallMaker(c10::Device device) : device_(device), inputs_(device), outputs_(device) {}

  /// The call of a group's rank: `whole` elements, a multiple of the ranks.
  backends::Call make(const CollectiveArea& area, backends::GroupId group, int rank,
                      std::int64_t whole) {
    const std::int64_t bytes = whole * item_size(area.dtype);
    inputs_.grow(bytes);
    outputs_.grow(bytes);
    backends::Call call;
    call.kind = area.kind;
    call.group = group;
    call.memory = device_.is_cpu() ? et_schema::DeviceType::kCpu : et_schema::DeviceType::kCuda;
    const std::int64_t ranks = area.ranks;
    const std::int64_t part = whole / ranks;
    switch (et_schema::traits(area.kind).sizes) {
      case CommSizes::kPairs:
        call.inputs = {inputs_.part(0, whole, area.dtype)};
        call.outputs = call.inputs;
        break;
      case CommSizes::kOutputPerRank:
        call.inputs = {inputs_.part(0, part, area.dtype)};
        call.outputs = parts(outputs_, ranks, part, area.dtype);
        break;
      case CommSizes::kInputPerRank:
        call.inputs = parts(inputs_, ranks, part, area.dtype);
        call.outputs = {outputs_.part(0, part, area.dtype)};
        break;
      case CommSizes::kOutputOfAll:
        call.inputs = {inputs_.part(0, part, area.dtype)};
        call.outputs = {outputs_.part(0, whole, area.dtype)};
        break;
      case CommSizes::kInputOfAll:
        call.inputs = {inputs_.part(0, whole, area.dtype)};
        call.outputs = {outputs_.part(0, part, area.dtype)};
        break;
      case CommSizes::kOutputsOfRoot:
        call.inputs = {inputs_.part(0, part, area.dtype)};
        call.outputs = parts(outputs_, rank == 0 ? ranks : 0, part, area.dtype);
        break;
      case CommSizes::kInputsOfRoot:
        call.inputs = parts(inputs_, rank == 0 ? ranks : 0, part, area.dtype);
        call.outputs = {outputs_.part(0, part, area.dtype)};
        break;
      case CommSizes::kSplits:
        call.in_splits.assign(static_cast<std::size_t>(ranks), part);
        call.out_splits = call.in_splits;
        [[fallthrough]];
      case CommSizes::kEqualParts:
        call.inputs = {inputs_.part(0, whole, area.dtype)};
        call.outputs = {outputs_.part(0, whole, area.dtype)};
        break;
      case CommSizes::kMessage:
        make_message(rank, whole, area.dtype, call);
        break;
      case CommSizes::kNone:
        break;
      case CommSizes::kNoCommunication:
        UNDERSTUDY_ASSERT(false);
    }
    return call;
  }

 private:
  static std::vector<Buffer> parts(Memory& memory, std::int64_t ranks, std::int64_t part,
                                   DType dtype) {
    std::vector<Buffer> buffers;
    for (std::int64_t i = 0; i < ranks; ++i) {
      buffers.push_back(memory.part(i * part, part, dtype));
    }
    return buffers;
  }

  /// From the group's first rank to its second.
  void make_message(int rank, std::int64_t whole, DType dtype, backends::Call& call) {
    call.kind = rank == 0 ? CommKind::kSend : CommKind::kRecv;
    call.root_or_peer = rank == 0 ? 1 : 0;
    if (rank == 0) {
      call.inputs.push_back(inputs_.part(0, whole, dtype));
    } else {
      call.outputs.push_back(outputs_.part(0, whole, dtype));
    }
  }

  c10::Device device_;
  Memory inputs_;
  Memory outputs_;
};

/// What one rank tells the others of a size: its repetitions, and whether it wants to stop.
struct Told {
  bool wants_to_stop = false;
  double spent_s = 0;
  std::vector<double> times_ns;
};

std::string text_of(const Told& told) {
  std::string text = fmt::format("{} {}", told.wants_to_stop ? 1 : 0, told.spent_s);
  for (const double time_ns : told.times_ns) {
    text += fmt::format(" {}", time_ns);
  }
  return text;
}

Told parse_told(const std::string& text) {
  std::istringstream in(text);
  Told told;
  in >> told.wants_to_stop >> told.spent_s;
  for (double time_ns = 0; in >> time_ns;) {
    told.times_ns.push_back(time_ns);
  }
  return told;
}

/// All ranks' words together: each repetition took as long as its slowest rank.
struct Agreed {
  bool is_over = false;
  double spent_s = 0;  ///< rank 0's
  std::vector<double> times_ns;
};

class CollectiveTimer {
 public:
  CollectiveTimer(backends::Job& job, CollectiveRoute route, const CollectiveLimits& limits,
                  const std::function<bool()>& is_interrupted)
      : job_(job),
        route_(route),
        limits_(limits),
        is_interrupted_(is_interrupted),
        begin_(Clock::now()),
        maker_(route.device) {
    for (int ranks = 2; ranks < job.world_size(); ++ranks) {
      std::vector<int> members(static_cast<std::size_t>(ranks));
      std::iota(members.begin(), members.end(), 0);
      groups_[ranks] = route.communicator.make_group(fmt::format("calibrate {}", ranks), members);
    }
    groups_[job.world_size()] = 0;
  }

  /// The areas whose calls the communicator takes where the memory is; connected.
  std::vector<CollectiveArea> connect(const std::vector<CollectiveArea>& areas) {
    std::vector<CollectiveArea> taken;
    std::vector<backends::Call> calls;
    for (const CollectiveArea& area : areas) {
      std::string refused;
      if (takes_part(area)) {
        const backends::Call call =
            maker_.make(area, groups_.at(area.ranks), job_.rank(), area.ranks);
        refused = route_.communicator.takes(call) ? "" : "refused";
        calls.push_back(call);
      }
      const std::vector<std::string> all = job_.all_gather_text(refused);
      if (std::ranges::all_of(all, &std::string::empty)) {
        taken.push_back(area);
      } else if (takes_part(area)) {
        calls.pop_back();
      }
    }
    route_.communicator.prepare(calls);
    return taken;
  }

  Agreed time(const CollectiveArea& area, std::int64_t whole) {
    constexpr std::size_t kFirst = 3;  // one of them to settle
    std::vector<double> all = run(area, whole, kFirst);
    Agreed agreed = agree(std::move(all));
    if (agreed.is_over || agreed.times_ns.empty()) {
      return agreed;
    }
    const double each_ns = *std::ranges::min_element(agreed.times_ns);
    agreed = agree(run(area, whole, repetitions(each_ns)));
    return agreed;
  }

  [[nodiscard]] double left_s() const {
    return limits_.budget_s - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  static std::size_t repetitions(double each_ns) {
    constexpr double kNanoseconds = 1e8;  // of one size
    constexpr double kLeast = 5;
    constexpr double kMost = 200;
    return static_cast<std::size_t>(std::clamp(kNanoseconds / each_ns, kLeast, kMost));
  }

  [[nodiscard]] bool takes_part(const CollectiveArea& area) const {
    return job_.rank() < (et_schema::is_message(area.kind) ? 2 : area.ranks);
  }

  /// This rank's times; none where it is not in the group.
  std::vector<double> run(const CollectiveArea& area, std::int64_t whole, std::size_t times) {
    const bool takes_part = this->takes_part(area);
    const backends::Call call = takes_part
                                    ? maker_.make(area, groups_.at(area.ranks), job_.rank(), whole)
                                    : backends::Call();
    replayer::synchronize(route_.device);
    std::vector<double> times_ns;
    for (std::size_t i = 0; i < times; ++i) {
      job_.note_progress();
      job_.barrier();
      const Clock::time_point begin = Clock::now();
      if (takes_part) {
        route_.communicator.run(call);
        replayer::synchronize_stream(route_.device);
        times_ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
      }
    }
    return times_ns;
  }

  Agreed agree(std::vector<double> times_ns) {
    const Told mine{is_interrupted_(), std::chrono::duration<double>(Clock::now() - begin_).count(),
                    std::move(times_ns)};
    Agreed agreed;
    bool is_first = true;
    for (const std::string& text : job_.all_gather_text(text_of(mine))) {
      const Told told = parse_told(text);
      agreed.is_over = agreed.is_over || told.wants_to_stop;
      agreed.spent_s = is_first ? told.spent_s : agreed.spent_s;
      is_first = false;
      agreed.times_ns.resize(std::max(agreed.times_ns.size(), told.times_ns.size()));
      for (std::size_t i = 0; i < told.times_ns.size(); ++i) {
        agreed.times_ns[i] = std::max(agreed.times_ns[i], told.times_ns[i]);
      }
    }
    agreed.is_over = agreed.is_over || agreed.spent_s > limits_.budget_s;
    return agreed;
  }

  backends::Job& job_;
  CollectiveRoute route_;
  CollectiveLimits limits_;
  const std::function<bool()>& is_interrupted_;
  Clock::time_point begin_;
  std::map<int, backends::GroupId> groups_;
  CallMaker maker_;
};

/// A multiple of the ranks, at least one element each.
std::int64_t elements_of(std::int64_t bytes, const CollectiveArea& area) {
  const std::int64_t each = std::int64_t{area.ranks} * item_size(area.dtype);
  return std::max<std::int64_t>(1, (bytes + each / 2) / each) * area.ranks;
}

}  // namespace

std::vector<CollectiveArea> collective_areas(int world_size) {
  std::vector<int> sizes;
  for (int ranks = 2; ranks < world_size; ranks *= 2) {
    sizes.push_back(ranks);
  }
  sizes.push_back(world_size);
  std::vector<CollectiveArea> areas;
  for (const int ranks : sizes) {
    for (std::size_t i = 0; i < et_schema::kCommKinds; ++i) {
      const auto kind = static_cast<CommKind>(i);
      // A receive is the other side of a send.
      if (et_schema::traits(kind).sizes != CommSizes::kNoCommunication && kind != CommKind::kRecv &&
          (kind != CommKind::kSend || ranks == 2)) {
        areas.push_back({kind, ranks, DType::kFloat32});
      }
    }
    for (const DType dtype : {DType::kBFloat16, DType::kFloat64, DType::kInt64}) {
      areas.push_back({CommKind::kAllReduce, ranks, dtype});
    }
  }
  return areas;
}

SizeLadder::SizeLadder(const CollectiveLimits& limits) : limits_(limits) {
  constexpr std::int64_t kStep = 64;
  for (std::int64_t bytes = limits.least_bytes; bytes <= limits.most_bytes; bytes *= kStep) {
    points_.push_back({bytes, 0});
  }
  if (points_.back().bytes != limits.most_bytes) {
    points_.push_back({limits.most_bytes, 0});
  }
  for (std::size_t i = 1; i < points_.size(); ++i) {
    gaps_.push_back({points_[i - 1].bytes, points_[i].bytes});
  }
}

std::int64_t SizeLadder::next() const {
  for (const Point& point : points_) {
    if (point.ns == 0) {
      return point.bytes;
    }
  }
  if (gaps_.empty()) {
    return 0;
  }
  const Gap& gap = gaps_.front();
  return static_cast<std::int64_t>(
      std::sqrt(static_cast<double>(gap.low) * static_cast<double>(gap.high)));
}

const SizeLadder::Point* SizeLadder::find(std::int64_t bytes) const {
  const auto found = std::ranges::find(points_, bytes, &Point::bytes);
  return found == points_.end() ? nullptr : &*found;
}

void SizeLadder::add(std::int64_t bytes, double ns) {
  const auto known = std::ranges::find(points_, bytes, &Point::bytes);
  if (known != points_.end()) {
    known->ns = ns;
    return;
  }
  UNDERSTUDY_ASSERT(!gaps_.empty());
  const Gap gap = gaps_.front();
  gaps_.erase(gaps_.begin());
  const double expected_ns = std::sqrt(find(gap.low)->ns * find(gap.high)->ns);
  points_.push_back({bytes, ns});
  std::ranges::sort(points_, {}, &Point::bytes);
  constexpr std::int64_t kLeastRatio = 4;  // closer sizes teach nothing
  if (std::abs(expected_ns / ns - 1) > limits_.error && gap.high / gap.low >= kLeastRatio) {
    gaps_.push_back({gap.low, bytes});
    gaps_.push_back({bytes, gap.high});
  }
}

void SizeLadder::refuse_from(std::int64_t bytes) {
  std::erase_if(points_, [&](const Point& point) { return point.bytes >= bytes && point.ns == 0; });
  std::erase_if(gaps_, [&](const Gap& gap) { return gap.high >= bytes; });
}

std::vector<CollectiveTime> measure_collectives(backends::Job& job, CollectiveRoute route,
                                                const CollectiveLimits& limits,
                                                const std::function<bool()>& is_interrupted,
                                                const CollectiveProgress& progress) {
  CollectiveTimer timer(job, route, limits, is_interrupted);
  const std::vector<CollectiveArea> areas = timer.connect(collective_areas(job.world_size()));
  std::vector<SizeLadder> ladders(areas.size(), SizeLadder(limits));
  std::vector<CollectiveTime> measured;
  constexpr double kNano = 1e9;
  // No size may take more of the time than is each area's fair share.
  const double most_ns = kNano * limits.budget_s / static_cast<double>(areas.size());
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t i = 0; i < areas.size(); ++i) {
      const std::int64_t bytes = ladders[i].next();
      if (bytes == 0) {
        continue;
      }
      goes_on = true;
      const std::string_view kind = to_string(areas[i].kind);
      progress(measured.size(), fmt::format("{}, {} ranks", kind, areas[i].ranks), timer.left_s());
      const bool is_sized = et_schema::traits(areas[i].kind).sizes != CommSizes::kNone;
      const std::int64_t whole = elements_of(bytes, areas[i]);
      Agreed agreed = timer.time(areas[i], whole);
      if (agreed.is_over) {
        return measured;
      }
      const auto stats = et_schema::time_stats(std::move(agreed.times_ns));
      UNDERSTUDY_ASSERT(stats.has_value());
      ladders[i].add(bytes, std::max(stats->median_ns, 1.0));
      measured.push_back({areas[i], is_sized ? whole * item_size(areas[i].dtype) : 0, *stats});
      constexpr double kRepetitions = 8;
      constexpr double kStep = 64;
      if (!is_sized) {
        ladders[i].refuse_from(0);
      } else if (stats->median_ns * kRepetitions * kStep > most_ns) {
        ladders[i].refuse_from(bytes * static_cast<std::int64_t>(kStep));
      }
    }
  }
  return measured;
}

}  // namespace understudy::calibrator
