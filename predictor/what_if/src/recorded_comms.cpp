#include <algorithm>
#include <cstdint>
#include <set>

#include "predictor/collectives/traffic.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

std::int64_t size_of(const GroupComm& call) {
  return call.sent_bytes.empty()
             ? call.bytes
             : static_cast<std::int64_t>(equal_parts_bytes(call.sent_bytes, call.ranks));
}

/// Returns why a call is no measurement; null if it is one.
const char* why_not(const GroupComm& call) {
  if (call.ranks < 2 || size_of(call) <= 0) {
    return "communication of one rank or without data";
  }
  if (!call.on_device) {
    return "communication of a CPU, whose recorded times hold waits";
  }
  const std::set<const Instruction*> sides(call.sides.begin(), call.sides.end());
  const bool are_all_seen =
      sides.size() == static_cast<std::size_t>(call.ranks) &&
      std::ranges::all_of(sides, [](const Instruction* side) {
        return side->timing && side->timing->launches > 0 && side->timing->device_ns > 0;
      });
  return are_all_seen ? nullptr : "communication that not all of its ranks' profiles show";
}

}  // namespace

ReadCollectives recorded_comms(const Job& job, const std::string& source) {
  RepetitionsNs times_ns;
  ReadCollectives read;
  const CommCosts listener([&](const GroupComm& call) -> Estimate {
    if (const char* reason = why_not(call)) {
      ++read.left_out[reason];
      return {};
    }
    const Instruction* last = std::ranges::min(
        call.sides, {}, [](const Instruction* side) { return side->timing->device_ns; });
    CollectiveCall measured = call;
    measured.bytes = size_of(call);
    const auto ns = static_cast<double>(last->timing->device_ns);
    times_ns[measured].push_back(ns);
    return known(ns, "recorded");
  });
  static_cast<void>(simulate(job, listener, {.warmup = 0, .iterations = 1, .spans = false}));
  read.rows = rows_of(times_ns, source);
  return read;
}

}  // namespace understudy::predictor
