#include "predictor/what_if/scaled_communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/traffic.h"

namespace understudy::predictor {

Estimate ScaledCommunication::of_communication(const GroupComm& call) const {
  const int seen_ranks = call.recorded_ranks;
  const double seen = et_schema::bus_factor(call.kind, seen_ranks);
  if (seen <= 0 || (seen_ranks < 2 && call.ranks > 1)) {
    throw et_schema::usage_error(
        "a job of one rank does not show what its communication takes",
        {.field = "--world-size",
         .expected = "a benchmark of two ranks or more",
         .got = fmt::format("{} of {} rank", et_schema::to_string(call.kind), seen_ranks),
         .hint = "take --platform, whose models know collectives"});
  }
  Estimate estimate = costs_.of_communication(call);
  if (call.ranks == seen_ranks) {
    return estimate;
  }
  const auto bytes = static_cast<double>(call.bytes);
  const Traffic before = traffic_of(call.kind, bytes, seen_ranks);
  const double longer = traffic_of(call.kind, bytes, call.ranks).steps / before.steps;
  const double larger = et_schema::bus_factor(call.kind, call.ranks) / seen;
  const auto factor = [&](double step_ns) {
    const double latency_ns = step_ns * before.steps;
    const double share = latency_ns / (latency_ns + kAssumedNsPerByte * before.link_bytes);
    return share * longer + (1 - share) * larger;
  };
  // The latency's share of the recorded time is unknown: ten times less or more than assumed.
  const auto [least, most] =
      std::minmax({1.0, factor(kAssumedStepNs / 10), factor(kAssumedStepNs * 10)});
  // At worst the whole time grows with the link bytes and with the depth of a tree over the ranks.
  const double depth = std::log2(std::max(call.ranks, 2)) / std::log2(std::max(seen_ranks, 2));
  estimate.ns *= factor(kAssumedStepNs);
  estimate.low_ns *= least;
  estimate.high_ns *= std::max(most, std::max(larger, 1.0) * std::max(depth, 1.0));
  estimate.extrapolated = true;
  return estimate;
}

}  // namespace understudy::predictor
