#include "generator/link/host.h"

#include <algorithm>
#include <map>
#include <utility>

namespace understudy::generator {
namespace {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

bool is_host_event(const KinetoEvent& event) {
  return event.category == KinetoCategory::kCpuOp ||
         event.category == KinetoCategory::kUserAnnotation;
}

/// Sorts by start. Whole microseconds can make starts equal; then "External id" decides, since it
/// counts up. Without ids, the longer event encloses the other.
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

/// Sets the parent of each event and the first event after it. Returns how many overlap others.
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

/// Appends a thread's starts and ends in the order in which they happened.
void append_boundaries(const HostEvents& host, const HostThread& thread,
                       std::vector<Boundary>& boundaries) {
  HostIndex open = kNoEvent;
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  const auto append = [&](std::int64_t time_ns, HostIndex event, bool is_end) {
    last_ns = std::max(last_ns, time_ns);
    boundaries.push_back({last_ns, event, is_end});
  };
  const auto close_until = [&](HostIndex parent) {
    for (; open != parent; open = host.events[open].parent) {
      append(host.events[open].end_ns, open, true);
    }
  };
  for (HostIndex i = thread.begin; i < thread.end; ++i) {
    close_until(host.events[i].parent);
    append(host.events[i].start_ns, i, false);
    open = i;
  }
  close_until(kNoEvent);
}

}  // namespace

std::int64_t HostEvents::relative(std::int64_t ts_ns) const {
  std::int64_t time_ns = 0;
  const bool is_late = __builtin_sub_overflow(ts_ns, first_ns, &time_ns);
  return is_late ? kLatestNs : std::clamp<std::int64_t>(time_ns, 0, kLatestNs);
}

HostIndex HostEvents::last_started(const HostThread& thread, std::int64_t time_ns) const {
  const std::span<const HostEvent> all = of(thread);
  const auto after = std::ranges::upper_bound(all, time_ns, {}, &HostEvent::start_ns);
  return after == all.begin() ? kNoEvent
                              : thread.begin + static_cast<HostIndex>(after - all.begin()) - 1;
}

EventRange HostEvents::started_in(const HostThread& thread, std::int64_t begin_ns,
                                  std::int64_t end_ns) const {
  const std::span<const HostEvent> all = of(thread);
  const auto first_from = [&](std::int64_t time_ns) {
    const auto place = std::ranges::lower_bound(all, time_ns, {}, &HostEvent::start_ns);
    return thread.begin + static_cast<HostIndex>(place - all.begin());
  };
  return {first_from(begin_ns), first_from(end_ns)};
}

std::vector<Boundary> HostEvents::boundaries() const {
  std::vector<Boundary> boundaries;
  boundaries.reserve(2 * events.size());
  for (const HostThread& thread : threads) {
    const auto middle = static_cast<std::ptrdiff_t>(boundaries.size());
    append_boundaries(*this, thread, boundaries);
    std::ranges::inplace_merge(boundaries, boundaries.begin() + middle, {}, &Boundary::time_ns);
  }
  return boundaries;
}

std::vector<HostIndex> HostEvents::children_of(HostIndex event) const {
  std::vector<HostIndex> children;
  for (HostIndex i = event + 1; i < events[event].behind; i = events[i].behind) {
    children.push_back(i);
  }
  return children;
}

HostEvents HostEvents::only(const std::vector<bool>& kept) const {
  HostEvents part{sources, {}, threads, first_ns, damaged_times, {}};
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
  part.index_sources();
  return part;
}

void HostEvents::index_sources() {
  by_source.assign(sources.size(), kNoEvent);
  for (HostIndex i = 0; i < events.size(); ++i) {
    by_source[events[i].source] = i;
  }
}

const HostThread* HostEvents::find_thread(std::int64_t pid, std::int64_t tid) const {
  const auto found = std::ranges::find_if(threads, [pid, tid](const HostThread& thread) {
    return thread.pid == pid && thread.tid == tid;
  });
  return found == threads.end() ? nullptr : &*found;
}

HostEvents host_events(const Profile& profile, NameTable& names) {
  HostEvents host;
  host.sources = profile.events;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places;
  const auto thread_of = [&](const KinetoEvent& event) -> HostThread& {
    const auto [place, is_new] = places.try_emplace({event.pid, event.tid}, host.threads.size());
    if (is_new) {
      host.threads.push_back({event.pid, event.tid});
    }
    return host.threads[place->second];
  };
  for (const KinetoEvent& event : profile.events) {
    if (is_host_event(event)) {
      host.first_ns = host.threads.empty() ? event.ts_ns : std::min(host.first_ns, event.ts_ns);
      ++thread_of(event).end;
    }
  }
  HostIndex total = 0;
  for (HostThread& thread : host.threads) {
    thread.begin = total;
    total += std::exchange(thread.end, total);
  }
  host.events.resize(total);
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const KinetoEvent& event = profile.events[i];
    if (is_host_event(event)) {
      const std::int64_t start_ns = host.relative(event.ts_ns);
      host.damaged_times += event.dur_ns < 0 ? 1U : 0U;
      host.events[thread_of(event).end++] = {
          start_ns,
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
  host.index_sources();
  return host;
}

}  // namespace understudy::generator
