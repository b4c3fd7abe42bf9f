#include "replayer/calibrator/measure/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "collective_calls.h"
#include "et_schema/base/machine_memory.h"
#include "et_schema/model/comm_traits.h"
#include "replayer/device/device.h"

namespace understudy::calibrator {
namespace {

using et_schema::CommKind;
using et_schema::CommSizes;
using et_schema::DType;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCoarseStep = 64;

/// One rank's message about one size: the times of its repetitions, and whether it wants to stop.
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

/// The combined messages of all ranks. The time of a repetition is that of its slowest rank.
struct Agreed {
  bool is_over = false;
  double spent_s = 0;  ///< rank 0's
  std::vector<double> times_ns;
};

/// Returns the area's call of about `bytes`: equal parts of an element or more per rank. A barrier
/// has no bytes.
CollectiveCall sized(CollectiveCall area, std::int64_t bytes) {
  const std::int64_t each = std::int64_t{area.ranks} * item_size(area.dtype);
  const bool is_sized = et_schema::traits(area.kind).sizes != CommSizes::kNone;
  area.bytes = is_sized ? std::max<std::int64_t>(1, (bytes + each / 2) / each) * each : 0;
  return area;
}

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

  /// Returns the areas whose calls the communicator accepts on all ranks, and opens their
  /// connections.
  std::vector<CollectiveCall> connect(const std::vector<CollectiveCall>& areas) {
    std::vector<CollectiveCall> taken;
    std::vector<backends::Call> calls;
    for (const CollectiveCall& area : areas) {
      std::string refused;
      if (takes_part(area)) {
        const backends::Call call = made(sized(area, 0));
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

  Agreed time(const CollectiveCall& call) {
    constexpr std::size_t kFirst = 3;  // the first of them warms up
    const Agreed agreed = agree(run(call, kFirst));
    if (agreed.is_over || agreed.times_ns.empty()) {
      return agreed;
    }
    const double each_ns = *std::ranges::min_element(agreed.times_ns);
    return agree(run(call, repetitions(each_ns)));
  }

  [[nodiscard]] double left_s() const {
    return limits_.budget_s - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  static std::size_t repetitions(double each_ns) {
    constexpr double kNanoseconds = 1e8;  // time of the repetitions of one size
    constexpr double kLeast = 5;
    constexpr double kMost = 200;
    return static_cast<std::size_t>(std::clamp(kNanoseconds / each_ns, kLeast, kMost));
  }

  [[nodiscard]] bool takes_part(const CollectiveCall& call) const {
    return job_.rank() < (et_schema::is_message(call.kind) ? 2 : call.ranks);
  }

  /// Returns this rank's times; empty if it is not in the group.
  std::vector<double> run(const CollectiveCall& call, std::size_t times) {
    return time_apart_ns(job_, route_, takes_part(call) ? made(call) : backends::Call(),
                         takes_part(call), times);
  }

  backends::Call made(const CollectiveCall& call) {
    return maker_.make(call, groups_.at(call.ranks), job_.rank());
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

}  // namespace

std::vector<CollectiveCall> collective_areas(const std::vector<std::string>& hosts,
                                             bool on_device) {
  const auto world_size = static_cast<int>(hosts.size());
  std::vector<int> sizes;
  for (int ranks = 2; ranks < world_size; ranks *= 2) {
    sizes.push_back(ranks);
  }
  sizes.push_back(world_size);
  std::vector<CollectiveCall> areas;
  for (const int ranks : sizes) {
    const std::set<std::string> nodes(hosts.begin(), hosts.begin() + ranks);
    CollectiveCall area{
        .ranks = ranks, .nodes = static_cast<int>(nodes.size()), .on_device = on_device};
    for (std::size_t i = 0; i < et_schema::kCommKinds; ++i) {
      const auto kind = static_cast<CommKind>(i);
      // A receive is the other side of a send.
      if (et_schema::traits(kind).sizes != CommSizes::kNoCommunication && kind != CommKind::kRecv &&
          (kind != CommKind::kSend || ranks == 2)) {
        area.kind = kind;
        areas.push_back(area);
      }
    }
    area.kind = CommKind::kAllReduce;
    for (const DType dtype : {DType::kBFloat16, DType::kFloat64, DType::kInt64}) {
      area.dtype = dtype;
      areas.push_back(area);
    }
  }
  return areas;
}

std::vector<std::int64_t> collective_sizes(const CollectiveLimits& limits) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t step : {kCoarseStep, std::int64_t{8}, std::int64_t{2}}) {
    for (std::int64_t bytes = limits.least_bytes; bytes <= limits.most_bytes; bytes *= step) {
      if (std::ranges::find(sizes, bytes) == sizes.end()) {
        sizes.push_back(bytes);
      }
    }
  }
  return sizes;
}

std::int64_t fitting_bytes(backends::Job& job, c10::Device device) {
  constexpr std::int64_t kShare = 4;
  const auto mine =
      device.is_cpu()
          ? static_cast<std::int64_t>(et_schema::available_memory().value_or(0)) /
                (kShare * job.world_size())
          : static_cast<std::int64_t>(replayer::device_free_bytes(device).value_or(0)) / kShare;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::string& text : job.all_gather_text(std::to_string(mine))) {
    const std::int64_t of_rank = std::stoll(text);
    least = of_rank > 0 ? std::min(least, of_rank) : least;
  }
  return least;
}

std::vector<CollectiveRow> measure_collectives(backends::Job& job, CollectiveRoute route,
                                               const CollectiveLimits& limits,
                                               const std::function<bool()>& is_interrupted,
                                               const CollectiveProgress& progress) {
  CollectiveTimer timer(job, route, limits, is_interrupted);
  const std::vector<CollectiveCall> areas =
      timer.connect(collective_areas(job.all_gather_text(job.host()), !route.device.is_cpu()));
  std::vector<std::int64_t> most_bytes(areas.size(), limits.most_bytes);
  std::vector<CollectiveRow> measured;
  constexpr double kNano = 1e9;
  // No size may exceed an area's equal share of the budget.
  const double most_ns = kNano * limits.budget_s / static_cast<double>(areas.size());
  for (const std::int64_t bytes : collective_sizes(limits)) {
    for (std::size_t i = 0; i < areas.size(); ++i) {
      if (bytes > most_bytes[i]) {
        continue;
      }
      const std::string_view kind = to_string(areas[i].kind);
      progress(measured.size(), fmt::format("{}, {} ranks", kind, areas[i].ranks), timer.left_s());
      const CollectiveCall call = sized(areas[i], bytes);
      Agreed agreed = timer.time(call);
      if (agreed.is_over) {
        return measured;
      }
      const CollectiveRow& row =
          measured.emplace_back(row_of(call, std::move(agreed.times_ns), "calibrate"));
      constexpr double kRepetitions = 8;
      if (call.bytes == 0) {
        most_bytes[i] = 0;
      } else if (row.median_ns * kRepetitions * static_cast<double>(kCoarseStep) > most_ns) {
        most_bytes[i] = std::min(most_bytes[i], bytes * kCoarseStep - 1);
      }
    }
  }
  return measured;
}

}  // namespace understudy::calibrator
