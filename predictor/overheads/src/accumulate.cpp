#include "predictor/overheads/accumulate.h"

#include "et_schema/support/error.h"
#include "et_schema/support/quote.h"

namespace understudy::predictor {
namespace {

double own_ns(const HostOverheads& host, const std::string& name,
              const OperatorOverheads& overheads) {
  if (overheads.launches.empty()) {
    return overheads.t5.mean_ns;
  }
  const double between = static_cast<double>(overheads.launches.size() - 1) * overheads.t5.mean_ns;
  const double around = overheads.t2.mean_ns + overheads.t3.mean_ns;
  if (name.starts_with("Optimizer")) {
    return 2 * around + between;
  }
  double launches = 0;
  for (const std::string& kind : overheads.launches) {
    const auto t4 = host.t4.find(kind);
    launches += t4 == host.t4.end() ? 0 : t4->second.mean_ns;
  }
  return around + launches + between;
}

}  // namespace

std::vector<double> accumulate_as_published(const HostOverheads& host,
                                            const std::vector<std::string>& operators) {
  std::vector<double> ends_ns;
  double now_ns = 0;
  for (const std::string& name : operators) {
    const auto known = host.operators.find(name);
    if (known == host.operators.end()) {
      throw et_schema::bad_input("the overheads lack an operator",
                                 {.field = et_schema::quote(name),
                                  .expected = "its T2, T3 or T5",
                                  .got = "none",
                                  .hint = "take overheads of the same program"});
    }
    now_ns += host.t1.mean_ns + own_ns(host, name, known->second);
    ends_ns.push_back(now_ns);
  }
  return ends_ns;
}

}  // namespace understudy::predictor
