#include "event_pairs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>

#include "et_schema/kineto/nested_events.h"

namespace understudy::et_schema {

std::vector<EventPairs::Begun> EventPairs::take(Losses& losses) {
  std::ranges::stable_sort(marks_, {}, [](const Mark& mark) {
    const KinetoEvent& event = mark.begun.event;
    return std::tuple(event.pid, event.tid, event.ts_ns);
  });
  std::vector<Begun> whole;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const KinetoEvent& event = marks_[i].begun.event;
    const bool is_new_thread = i > 0 && !are_on_one_thread(marks_[i - 1].begun.event, event);
    if (is_new_thread) {
      losses.add(Loss::kUnpairedEvents, open.size());
      open.clear();
    }
    if (!marks_[i].is_end) {
      open.push_back(i);
    } else if (open.empty()) {
      losses.add(Loss::kUnpairedEvents);
    } else {
      Begun& begun = whole.emplace_back(marks_[open.back()].begun);
      if (__builtin_sub_overflow(event.ts_ns, begun.event.ts_ns, &begun.event.dur_ns)) {
        begun.event.dur_ns = std::numeric_limits<std::int64_t>::max();
      }
      open.pop_back();
    }
  }
  losses.add(Loss::kUnpairedEvents, open.size());
  marks_.clear();
  return whole;
}

}  // namespace understudy::et_schema
