#include "predictor/overheads/observe_overlap.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "et_schema/base/statistics.h"
#include "et_schema/model/report.h"

namespace understudy::predictor {
namespace {

/// A call counts as beside other work if that work covers this share of its time.
constexpr double kNearlyWhole = 0.9;
/// Minimum time in units of the clock. Rounding changes shorter times by more than a twentieth.
constexpr double kLeastClocks = 10;

using Counts = std::map<std::string, std::uint64_t>;
/// By device and call.
using Pairs = std::map<std::string, std::map<std::string, OverlapPair>>;

/// Times of one call, alone and beside other work.
struct BothWays {
  std::vector<double> alone_ns;
  std::vector<double> beside_ns;
};

/// Adds a call of one file, whose times are multiples of `clock_ns`.
void add_pair(const BothWays& times, std::int64_t clock_ns, const std::string& what,
              OverlapPair& pair, Counts& not_used) {
  const auto count = times.beside_ns.size();
  if (count == 0) {
    return;
  }
  if (times.alone_ns.empty()) {
    not_used["overlap: " + what + ", never seen alone"] += count;
    return;
  }
  const double alone_ns = *et_schema::median(times.alone_ns);
  if (alone_ns < kLeastClocks * static_cast<double>(clock_ns)) {
    not_used["overlap: " + what + ", too short for their profile's clock"] += count;
    return;
  }
  pair.alone_ns += static_cast<double>(count) * alone_ns;
  pair.beside_ns += static_cast<double>(count) * *et_schema::median(times.beside_ns);
  pair.calls += count;
}

/// When a device's communication moved data, if known, and when any communication ran.
struct Moving {
  Stretches data;
  Stretches all;
};

/// Text of a call → number of such calls, and the time of the shortest. Each call moves data for
/// at most that time, directly before its end.
using LeastTimes = std::map<std::string, std::pair<std::size_t, std::int64_t>>;

LeastTimes least_times(const std::vector<ProfiledDevice>& devices) {
  LeastTimes least;
  for (const ProfiledDevice& device : devices) {
    for (const ProfiledComm& comm : device.comms) {
      auto& [count, ns] =
          least.try_emplace(comm.call, 0, std::numeric_limits<std::int64_t>::max()).first->second;
      ++count;
      ns = std::min(ns, comm.stretch.ns());
    }
  }
  return least;
}

Moving moving_of(const ProfiledDevice& device, const LeastTimes& least) {
  Moving moving;
  for (const ProfiledComm& comm : device.comms) {
    moving.all.push_back(comm.stretch);
    const auto& [count, ns] = least.at(comm.call);
    if (!comm.call.empty() && count > 1) {
      moving.data.push_back({comm.stretch.end_ns - ns, comm.stretch.end_ns});
    }
  }
  return {merged_stretches(std::move(moving.data)), merged_stretches(std::move(moving.all))};
}

enum class Beside : std::uint8_t { kCommunication, kStreams, kNeither };

Beside beside_what(const BesideKernel& kernel, const Moving& moving, Counts& not_used) {
  const double least_ns = kNearlyWhole * static_cast<double>(kernel.stretch.ns());
  const std::int64_t comms_ns = covered_ns(moving.all, kernel.stretch);
  const std::int64_t data_ns = covered_ns(moving.data, kernel.stretch);
  if (comms_ns > 0 && kernel.streams_ns > 0) {
    ++not_used["overlap: kernels beside communication and other kernels at once"];
  } else if (comms_ns == 0 && static_cast<double>(kernel.streams_ns) < least_ns) {
    ++not_used["overlap: kernels partly beside other kernels"];
  } else if (comms_ns > 0 && data_ns == 0) {
    ++not_used["overlap: kernels beside communication, which may have waited for other ranks"];
  } else if (comms_ns > 0 && static_cast<double>(data_ns) < least_ns) {
    ++not_used["overlap: kernels partly beside communication"];
  } else if (kernel.call == kUnknownCall) {
    ++not_used["overlap: kernels whose call is not known, for lack of input sizes and steps"];
  } else {
    return comms_ns > 0 ? Beside::kCommunication : Beside::kStreams;
  }
  return Beside::kNeither;
}

void add_kernels_of(const ProfiledDevice& device, const LeastTimes& least, Pairs& compute,
                    Pairs& streams, Counts& not_used) {
  const Moving moving = moving_of(device, least);
  std::vector<BothWays> beside_comms(device.calls.size());
  std::vector<BothWays> beside_streams(device.calls.size());
  for (const BesideKernel& kernel : device.beside) {
    const Beside what = beside_what(kernel, moving, not_used);
    if (what != Beside::kNeither) {
      (what == Beside::kCommunication ? beside_comms : beside_streams)[kernel.call]
          .beside_ns.push_back(static_cast<double>(kernel.stretch.ns()));
    }
  }
  for (std::size_t call = 0; call < device.calls.size(); ++call) {
    beside_comms[call].alone_ns = device.alone_ns[call];
    beside_streams[call].alone_ns = device.alone_ns[call];
    add_pair(beside_comms[call], device.clock_ns, "kernels beside communication",
             compute[device.device][device.calls[call]], not_used);
    add_pair(beside_streams[call], device.clock_ns, "kernels beside other kernels",
             streams[device.device][device.calls[call]], not_used);
  }
}

/// A group's calls by rank, ordered by time. Several files of a rank are combined.
struct RanksOfGroup {
  std::size_t ranks_in_group = 0;
  std::int64_t clock_ns = 1;
  std::string device;
  std::map<std::int64_t, std::vector<const ProfiledComm*>> calls;
};

std::map<std::string, RanksOfGroup> groups_of(const std::vector<ProfiledDevice>& devices) {
  std::map<std::string, RanksOfGroup> groups;
  for (const ProfiledDevice& device : devices) {
    for (const ProfiledComm& comm : device.comms) {
      if (comm.ranks_in_group < 2 || device.rank < 0) {
        continue;
      }
      RanksOfGroup& group = groups[comm.group];
      group.ranks_in_group = comm.ranks_in_group;
      group.clock_ns = std::max(group.clock_ns, device.clock_ns);
      group.device = device.device;
      group.calls[device.rank].push_back(&comm);
    }
  }
  for (auto& [name, group] : groups) {
    for (auto& [rank, calls] : group.calls) {
      std::ranges::stable_sort(calls, {},
                               [](const ProfiledComm* comm) { return comm->stretch.start_ns; });
    }
  }
  return groups;
}

/// Returns the share of a call's moving time that other kernels cover, for the rank where it is
/// largest.
double share_beside(const std::vector<const ProfiledComm*>& sides, std::int64_t ns) {
  double most = 0;
  for (const ProfiledComm* side : sides) {
    const Stretch data{side->stretch.end_ns - ns, side->stretch.end_ns};
    most = std::max(most, static_cast<double>(covered_ns(side->beside, data)));
  }
  return most / static_cast<double>(ns);
}

/// Adds calls that all ranks of a group show in the same order. The data took as long as the
/// shortest of the ranks' calls.
void add_calls_of(const RanksOfGroup& group, Pairs& pairs, Counts& not_used) {
  const auto& first = group.calls.begin()->second;
  const bool are_alike =
      group.calls.size() == group.ranks_in_group &&
      std::ranges::all_of(group.calls, [&](const auto& rank) {
        return std::ranges::equal(
            rank.second, first,
            [](const ProfiledComm* a, const ProfiledComm* b) { return a->kind == b->kind; });
      });
  if (!are_alike) {
    return;  // counted where communication's own times are read
  }
  std::map<std::string, BothWays> times;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::vector<const ProfiledComm*> sides;
    std::int64_t ns = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, calls] : group.calls) {
      sides.push_back(calls[i]);
      ns = std::min(ns, calls[i]->stretch.ns());
    }
    const double share = share_beside(sides, ns);
    BothWays& both = times[first[i]->call];
    if (share > 0 && share < kNearlyWhole) {
      ++not_used["overlap: communication partly beside kernels"];
    } else {
      (share > 0 ? both.beside_ns : both.alone_ns).push_back(static_cast<double>(ns));
    }
  }
  for (const auto& [call, both] : times) {
    add_pair(both, group.clock_ns, "communication beside kernels", pairs[group.device][call],
             not_used);
  }
}

/// Returns a device's factor, or nothing if its calls do not suffice.
std::optional<OverlapFactor> factor_of(const std::string& device, const char* name,
                                       const std::string& what, const Pairs& pairs,
                                       ObservedOverlap& observed) {
  const auto found = pairs.find(device);
  std::vector<OverlapPair> list;
  if (found != pairs.end()) {
    for (const auto& [call, pair] : found->second) {
      if (pair.calls > 0) {
        list.push_back(pair);
      }
    }
  }
  const PooledFactor pooled = pool(list);
  switch (pooled.outcome) {
    case PooledOverlap::kFactor:
      observed.left_out[device + "\n" + name] = pooled.left_out;
      return pooled.factor;
    case PooledOverlap::kNothing:
      break;
    case PooledOverlap::kTooFew:
      observed.not_used["overlap: different " + what + ", too few for a factor"] += list.size();
      break;
    case PooledOverlap::kFaster:
      observed.not_used["overlap: different " + what + ", which were faster than alone"] +=
          list.size();
      break;
  }
  return std::nullopt;
}

}  // namespace

ObservedOverlap observed_overlap(const std::vector<ProfiledDevice>& devices) {
  ObservedOverlap observed;
  Pairs compute;
  Pairs communication;
  Pairs streams;
  const LeastTimes least = least_times(devices);
  for (const ProfiledDevice& device : devices) {
    add_kernels_of(device, least, compute, streams, observed.not_used);
  }
  for (const auto& [name, group] : groups_of(devices)) {
    add_calls_of(group, communication, observed.not_used);
  }
  std::map<std::string, DeviceOverlap> by_name;
  for (const ProfiledDevice& device : devices) {
    DeviceOverlap& one = by_name[device.device];
    one.device = device.device;
    one.sources.push_back(device.file);
  }
  for (auto& [name, one] : by_name) {
    one.compute = factor_of(name, "compute", "kernels beside communication", compute, observed);
    one.communication =
        factor_of(name, "communication", "communication beside kernels", communication, observed);
    one.streams = factor_of(name, "streams", "kernels beside other kernels", streams, observed);
    std::ranges::sort(one.sources);
    one.sources.erase(std::unique(one.sources.begin(), one.sources.end()), one.sources.end());
    if (one.compute || one.communication || one.streams) {
      observed.devices.push_back(std::move(one));
    }
  }
  return observed;
}

}  // namespace understudy::predictor
