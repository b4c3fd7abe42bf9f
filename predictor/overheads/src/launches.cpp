#include "launches.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace understudy::predictor {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;

/// Operators and calls of one host thread.
struct HostThread {
  std::vector<const KinetoEvent*> operators;
  std::vector<const KinetoEvent*> calls;
};

std::int64_t end_of(const KinetoEvent& event) {
  return event.ts_ns + event.dur_ns;
}

/// Adds calls by time, each with the innermost operator that is open when the call begins.
void add_launches(HostThread& thread, DeviceLaunches& launches) {
  std::ranges::stable_sort(thread.operators, [](const KinetoEvent* a, const KinetoEvent* b) {
    return std::pair(a->ts_ns, -a->dur_ns) < std::pair(b->ts_ns, -b->dur_ns);
  });
  std::ranges::stable_sort(thread.calls, {}, &KinetoEvent::ts_ns);
  std::vector<const KinetoEvent*> open;
  auto next = thread.operators.begin();
  for (const KinetoEvent* call : thread.calls) {
    for (; next != thread.operators.end() && (*next)->ts_ns <= call->ts_ns; ++next) {
      while (!open.empty() && end_of(*open.back()) <= (*next)->ts_ns) {
        open.pop_back();
      }
      open.push_back(*next);
    }
    while (!open.empty() && end_of(*open.back()) < call->ts_ns) {
      open.pop_back();
    }
    launches.try_emplace(call->correlation,
                         DeviceLaunch{call, open.empty() ? nullptr : open.back()});
  }
}

}  // namespace

bool has_length(const KinetoEvent& event) {
  std::int64_t end_ns = 0;
  return event.dur_ns > 0 && !__builtin_add_overflow(event.ts_ns, event.dur_ns, &end_ns);
}

DeviceLaunches device_launches(const et_schema::Profile& profile) {
  std::map<std::pair<std::int64_t, std::int64_t>, HostThread> threads;
  for (const KinetoEvent& event : profile.events) {
    if (event.category == KinetoCategory::kCpuOp && has_length(event)) {
      threads[{event.pid, event.tid}].operators.push_back(&event);
    } else if (event.category == KinetoCategory::kRuntime && event.correlation >= 0) {
      threads[{event.pid, event.tid}].calls.push_back(&event);
    }
  }
  DeviceLaunches launches;
  for (auto& [id, thread] : threads) {
    add_launches(thread, launches);
  }
  return launches;
}

}  // namespace understudy::predictor
