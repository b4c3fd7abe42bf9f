#include "et_schema/base/stretches.h"

#include <algorithm>

namespace understudy::et_schema {

Stretches merged_stretches(Stretches stretches) {
  std::ranges::sort(stretches, {}, &Stretch::start_ns);
  Stretches merged;
  for (const Stretch& one : stretches) {
    if (one.ns() <= 0) {
      continue;
    }
    if (!merged.empty() && one.start_ns <= merged.back().end_ns) {
      merged.back().end_ns = std::max(merged.back().end_ns, one.end_ns);
    } else {
      merged.push_back(one);
    }
  }
  return merged;
}

std::int64_t covered_ns(const Stretches& stretches, const Stretch& of) {
  auto at = std::ranges::upper_bound(stretches, of.start_ns, {}, &Stretch::end_ns);
  std::int64_t ns = 0;
  for (; at != stretches.end() && at->start_ns < of.end_ns; ++at) {
    ns += std::min(at->end_ns, of.end_ns) - std::max(at->start_ns, of.start_ns);
  }
  return ns;
}

std::int64_t total_ns(const Stretches& stretches) {
  std::int64_t ns = 0;
  for (const Stretch& one : stretches) {
    ns += one.ns();
  }
  return ns;
}

}  // namespace understudy::et_schema
