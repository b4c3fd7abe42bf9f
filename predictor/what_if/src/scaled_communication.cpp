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
  // Of the recorded time an assumed share is latency, which grows with the steps.
  const double latency_ns = assumed_ns(call.kind, 0, seen_ranks);
  const double longer = assumed_ns(call.kind, 0, call.ranks) / latency_ns;
  const double larger = et_schema::bus_factor(call.kind, call.ranks) / seen;
  const double share =
      latency_ns / assumed_ns(call.kind, static_cast<double>(call.bytes), seen_ranks);
  estimate.ns *= share * longer + (1 - share) * larger;
  estimate.low_ns *= std::min({1.0, longer, larger});
  estimate.high_ns *= std::max(longer, 1.0) * std::max(larger, 1.0);
  estimate.extrapolated = true;
  return estimate;
}

}  // namespace understudy::predictor
