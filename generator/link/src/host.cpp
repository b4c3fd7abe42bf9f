#include "generator/link/host.h"

#include <algorithm>
#include <span>

namespace understudy::generator {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

bool is_host_event(const KinetoEvent& event) {
  return event.category == KinetoCategory::kCpuOp ||
         event.category == KinetoCategory::kUserAnnotation;
}

/// Finds threads in the file's order: neighbouring events are mostly of one thread.
class ThreadFinder {
 public:
  std::size_t find(std::vector<HostThread>& threads, const KinetoEvent& event) {
    const auto is_it = [&event](const HostThread& thread) {
      return thread.pid == event.pid && thread.tid == event.tid;
    };
    if (last_ < threads.size() && is_it(threads[last_])) {
      return last_;
    }
    const auto found = std::ranges::find_if(threads, is_it);
    last_ = static_cast<std::size_t>(found - threads.begin());
    if (found == threads.end()) {
      threads.push_back({event.pid, event.tid, 0, 0});
    }
    return last_;
  }

 private:
  std::size_t last_ = 0;
};

/// Sorts by start. If whole microseconds make starts equal, "External id" gives the order, since it
/// is counted up; otherwise the longer event is around the other.
void sort_thread(std::span<HostEvent> events, const Profile& profile) {
  const auto external_id = [&profile](const HostEvent& event) {
    return profile.events[event.source].external_id;
  };
  const bool all_have_ids =
      std::ranges::all_of(events, [&](const HostEvent& event) { return external_id(event) > 0; });
  const auto before = [&](const HostEvent& a, const HostEvent& b) {
    if (a.start_ns != b.start_ns) {
      return a.start_ns < b.start_ns;
    }
    if (all_have_ids && external_id(a) != external_id(b)) {
      return external_id(a) < external_id(b);
    }
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.source < b.source;
  };
  if (!std::ranges::is_sorted(events, before)) {
    std::ranges::sort(events, before);
  }
}

/// Sets what is around each event, and behind it. Returns how many overlap one before them.
std::uint64_t nest(std::span<HostEvent> events, HostIndex first) {
  std::uint64_t overlaps = 0;
  HostIndex open = kNoEvent;
  const auto close = [&](HostIndex behind) {
    HostEvent& event = events[open - first];
    event.behind = behind;
    open = event.parent;
  };
  HostIndex index = first;
  for (HostEvent& event : events) {
    bool overlaps_one = false;
    while (open != kNoEvent && events[open - first].end_ns < event.end_ns) {
      overlaps_one |= events[open - first].end_ns > event.start_ns;
      close(index);
    }
    overlaps += overlaps_one ? 1U : 0U;
    event.parent = open;
    open = index++;
  }
  while (open != kNoEvent) {
    close(index);
  }
  return overlaps;
}

}  // namespace

std::int64_t HostEvents::relative(std::int64_t ts_ns) const {
  std::int64_t time_ns = 0;
  const bool is_late = __builtin_sub_overflow(ts_ns, first_ns, &time_ns);
  return is_late ? kLatestNs : std::clamp<std::int64_t>(time_ns, 0, kLatestNs);
}

HostIndex HostEvents::last_started(const HostThread& thread, std::int64_t time_ns) const {
  const auto begin = events.begin() + thread.begin;
  const auto after = std::upper_bound(
      begin, events.begin() + thread.end, time_ns,
      [](std::int64_t time, const HostEvent& event) { return time < event.start_ns; });
  return after == begin ? kNoEvent : static_cast<HostIndex>(after - events.begin() - 1);
}

EventRange HostEvents::started_in(const HostThread& thread, std::int64_t begin_ns,
                                  std::int64_t end_ns) const {
  const auto first_from = [&](std::int64_t time_ns) {
    const auto begin = events.begin() + thread.begin;
    const auto place = std::lower_bound(
        begin, events.begin() + thread.end, time_ns,
        [](const HostEvent& event, std::int64_t time) { return event.start_ns < time; });
    return static_cast<HostIndex>(place - events.begin());
  };
  return {first_from(begin_ns), first_from(end_ns)};
}

std::vector<HostIndex> HostEvents::children_of(HostIndex event) const {
  std::vector<HostIndex> children;
  for (HostIndex i = event + 1; i < events[event].behind; i = events[i].behind) {
    children.push_back(i);
  }
  return children;
}

HostEvents HostEvents::only(const std::vector<bool>& kept) const {
  HostEvents part{{}, threads, first_ns, damaged_times};
  for (HostThread& thread : part.threads) {
    const auto begin = static_cast<HostIndex>(part.events.size());
    for (HostIndex i = thread.begin; i < thread.end; ++i) {
      if (kept[i]) {
        part.events.push_back(events[i]);
      }
    }
    thread.begin = begin;
    thread.end = static_cast<HostIndex>(part.events.size());
    nest(std::span(part.events).subspan(begin), begin);
  }
  return part;
}

const HostThread* HostEvents::find_thread(std::int64_t pid, std::int64_t tid) const {
  const auto found = std::ranges::find_if(threads, [pid, tid](const HostThread& thread) {
    return thread.pid == pid && thread.tid == tid;
  });
  return found == threads.end() ? nullptr : &*found;
}

HostEvents host_events(const Profile& profile, NameTable& names) {
  HostEvents host;
  ThreadFinder finder;
  std::vector<HostIndex> counts;
  for (const KinetoEvent& event : profile.events) {
    if (is_host_event(event)) {
      host.first_ns = counts.empty() ? event.ts_ns : std::min(host.first_ns, event.ts_ns);
      const std::size_t thread = finder.find(host.threads, event);
      counts.resize(host.threads.size());
      ++counts[thread];
    }
  }
  HostIndex total = 0;
  for (std::size_t i = 0; i < host.threads.size(); ++i) {
    host.threads[i].begin = host.threads[i].end = total;
    total += counts[i];
  }
  host.events.resize(total);
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const KinetoEvent& event = profile.events[i];
    if (is_host_event(event)) {
      HostThread& thread = host.threads[finder.find(host.threads, event)];
      const std::int64_t start_ns = host.relative(event.ts_ns);
      host.damaged_times += event.dur_ns < 0 ? 1U : 0U;
      host.events[thread.end++] = {start_ns,
                                   start_ns + std::clamp<std::int64_t>(event.dur_ns, 0, kLatestNs),
                                   static_cast<std::uint32_t>(i),
                                   names.number_interned(event.name),
                                   kNoEvent,
                                   0,
                                   event.category == KinetoCategory::kCpuOp};
    }
  }
  for (const HostThread& thread : host.threads) {
    const std::span<HostEvent> events =
        std::span(host.events).subspan(thread.begin, thread.end - thread.begin);
    sort_thread(events, profile);
    host.damaged_times += nest(events, thread.begin);
  }
  return host;
}

}  // namespace understudy::generator
