#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "predictor/collectives/traffic.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

/// Records the times of a job's communications, each of which is queried once. Not thread-safe.
class Listener final : public Costs {
 public:
  [[nodiscard]] OperatorCost of_operator(const Program& /*program*/,
                                         const Instruction& /*instruction*/) const override {
    return {};
  }

  [[nodiscard]] Estimate of_gap(const Program& /*program*/,
                                const Instruction& /*instruction*/) const override {
    return {};
  }

  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override {
    if (const char* reason = why_not(call)) {
      ++heard_.left_out[reason];
      return {};
    }
    std::int64_t ns = std::numeric_limits<std::int64_t>::max();
    for (const Instruction* side : call.sides) {
      ns = std::min(ns, side->timing->device_ns);
    }
    CollectiveCall measured = call;
    measured.bytes = bytes_of(call);
    times_ns_[measured].push_back(static_cast<double>(ns));
    return known(static_cast<double>(ns), "recorded");
  }

  [[nodiscard]] ReadCollectives rows(const std::string& source) const {
    ReadCollectives result = heard_;
    result.rows = rows_of(times_ns_, source);
    return result;
  }

 private:
  static std::int64_t bytes_of(const GroupComm& call) {
    return call.sent_bytes.empty()
               ? call.bytes
               : static_cast<std::int64_t>(equal_parts_bytes(call.sent_bytes, call.ranks));
  }

  /// Returns why a call is no measurement; null if it is one.
  static const char* why_not(const GroupComm& call) {
    if (call.ranks < 2 || bytes_of(call) <= 0) {
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

  mutable RepetitionsNs times_ns_;
  mutable ReadCollectives heard_;
};

}  // namespace

ReadCollectives recorded_comms(const Job& job, const std::string& source) {
  const Listener listener;
  SimulateOptions once;
  once.warmup = 0;
  once.iterations = 1;
  once.spans = false;
  static_cast<void>(simulate(job, listener, once));
  return listener.rows(source);
}

}  // namespace understudy::predictor
