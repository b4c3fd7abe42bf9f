#include "timeline.h"

#include <algorithm>

namespace understudy::generator {
namespace {

struct Timed {
  std::int64_t time_ns = 0;
  Moment moment;
};

/// Adds the moments of a thread; their times never fall.
void add_thread(const HostEvents& host, const HostThread& thread, std::vector<Timed>& all) {
  std::vector<HostIndex> open;
  std::int64_t last_ns = 0;
  const auto add = [&](std::int64_t time_ns, HostIndex event, bool is_begin) {
    last_ns = std::max(last_ns, time_ns);
    all.push_back({last_ns, {event, is_begin}});
  };
  const auto close_up_to = [&](HostIndex parent) {
    while (!open.empty() && open.back() != parent) {
      add(host.events[open.back()].end_ns, open.back(), false);
      open.pop_back();
    }
  };
  for (HostIndex i = thread.begin; i < thread.end; ++i) {
    close_up_to(host.events[i].parent);
    add(host.events[i].start_ns, i, true);
    open.push_back(i);
  }
  close_up_to(kNoEvent);
}

}  // namespace

std::vector<Moment> moments(const HostEvents& host) {
  std::vector<Timed> all;
  all.reserve(2 * host.events.size());
  for (const HostThread& thread : host.threads) {
    add_thread(host, thread, all);
  }
  std::ranges::stable_sort(all, {}, &Timed::time_ns);
  std::vector<Moment> ordered;
  ordered.reserve(all.size());
  for (const Timed& timed : all) {
    ordered.push_back(timed.moment);
  }
  return ordered;
}

}  // namespace understudy::generator
