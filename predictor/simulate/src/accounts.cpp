#include "accounts.h"

namespace understudy::predictor {

void Accounts::pass(const Doing& doing, std::int64_t now_ns) {
  auto passed_ns = static_cast<double>(now_ns - last_ns_);
  last_ns_ = now_ns;
  if (doing.operators > 0) {
    const double waiting_ns = doing.unlaunched_share * passed_ns;
    sums_.compute_ns += passed_ns - waiting_ns;
    passed_ns = waiting_ns;
  }
  if (doing.communications > 0) {
    sums_.exposed_communication_ns += passed_ns;
  } else if (doing.hosts > 0) {
    sums_.host_bound_ns += passed_ns;
  } else {
    sums_.idle_ns += passed_ns;
  }
}

Breakdown Accounts::mean(double iterations) const {
  return {(sums_.compute_ns - begin_.compute_ns) / iterations,
          (sums_.exposed_communication_ns - begin_.exposed_communication_ns) / iterations,
          (sums_.host_bound_ns - begin_.host_bound_ns) / iterations,
          (sums_.idle_ns - begin_.idle_ns) / iterations};
}

}  // namespace understudy::predictor
