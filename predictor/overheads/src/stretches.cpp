#include "stretches.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace understudy::predictor {

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

Stretches several_streams(const std::vector<StreamStretch>& work) {
  struct Edge {
    std::int64_t ns;
    int change;  // a stretch ends before one that starts at the same moment
    std::int64_t stream;
  };
  std::vector<Edge> edges;
  for (const StreamStretch& one : work) {
    if (one.stretch.ns() > 0) {
      edges.push_back({one.stretch.start_ns, 1, one.stream});
      edges.push_back({one.stretch.end_ns, -1, one.stream});
    }
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return std::tie(a.ns, a.change) < std::tie(b.ns, b.change);
  });
  std::unordered_map<std::int64_t, int> open;
  int streams = 0;
  Stretches several;
  for (const Edge& edge : edges) {
    int& own = open[edge.stream];
    const int before = streams;
    own += edge.change;
    if (edge.change > 0 && own == 1) {
      ++streams;
    } else if (edge.change < 0 && own == 0) {
      --streams;
    }
    if (before < 2 && streams >= 2) {
      several.push_back({edge.ns, edge.ns});
    } else if (before >= 2 && streams < 2) {
      several.back().end_ns = edge.ns;
    }
  }
  return merged_stretches(std::move(several));
}

}  // namespace understudy::predictor
