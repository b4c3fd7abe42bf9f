#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/names.h"

namespace understudy::generator {

/// Position in HostEvents::events.
using HostIndex = std::uint32_t;
inline constexpr HostIndex kNoEvent = std::numeric_limits<HostIndex>::max();

/// The latest time, about 18 years after the profile's first host event, from which times count.
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 59U;

/// Returns a + b, or the largest number on overflow, so that damaged times cannot overflow.
[[nodiscard]] inline std::int64_t add_times(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// An operator or annotation in a profile.
struct HostEvent {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t source = 0;  ///< position in Profile::events
  NameId name = 0;
  HostIndex parent = kNoEvent;  ///< the innermost event around it on its thread
  HostIndex behind = 0;         ///< first later event of its thread not below it, or the end
  bool is_operator = false;
};

struct HostThread {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  HostIndex begin = 0;  ///< its events: [begin, end)
  HostIndex end = 0;
};

/// Positions [begin, end) in HostEvents::events.
struct EventRange {
  HostIndex begin = 0;
  HostIndex end = 0;
};

/// The start or end of an event.
struct Boundary {
  std::int64_t time_ns = 0;
  HostIndex event = kNoEvent;
  bool is_end = false;
};

/// The host events of a profile, by thread. Events of a thread are ordered by start, each before
/// the events that it encloses.
struct HostEvents {
  std::span<const et_schema::KinetoEvent> sources;  ///< Profile::events, which must outlive this
  std::vector<HostEvent> events;
  std::vector<HostThread> threads;
  std::int64_t first_ns = 0;  ///< start of the first event, on the profile's clock
  /// Number of events that end before they begin, or that begin in another event and end after it.
  std::uint64_t damaged_times = 0;
  std::vector<HostIndex> by_source;  ///< by position in Profile::events

  /// Returns the position of an event of the profile; kNoEvent if it is not a host event.
  [[nodiscard]] HostIndex event_of(std::uint32_t source) const {
    return source < by_source.size() ? by_source[source] : kNoEvent;
  }

  /// Returns the profile's record of the event.
  [[nodiscard]] const et_schema::KinetoEvent& source(HostIndex event) const {
    return sources[events[event].source];
  }

  /// Converts a time of the profile to the time of these events: 0 to kLatestNs.
  [[nodiscard]] std::int64_t relative(std::int64_t ts_ns) const;

  [[nodiscard]] std::span<const HostEvent> of(const HostThread& thread) const {
    return std::span(events).subspan(thread.begin, thread.end - thread.begin);
  }
  /// Returns the last event of the thread with start_ns <= time_ns; kNoEvent if none.
  [[nodiscard]] HostIndex last_started(const HostThread& thread, std::int64_t time_ns) const;
  /// Returns the thread's events with begin_ns <= start_ns < end_ns.
  [[nodiscard]] EventRange started_in(const HostThread& thread, std::int64_t begin_ns,
                                      std::int64_t end_ns) const;
  /// Returns the starts and ends of all events, ordered by time and nested within each thread. An
  /// event that begins inside of another one and ends after it begins when the other one ends.
  [[nodiscard]] std::vector<Boundary> boundaries() const;
  /// Returns the event's direct children, in order.
  [[nodiscard]] std::vector<HostIndex> children_of(HostIndex event) const;
  /// Returns the `kept` events, nested again. All threads are kept.
  [[nodiscard]] HostEvents only(const std::vector<bool>& kept) const;
  [[nodiscard]] const HostThread* find_thread(std::int64_t pid, std::int64_t tid) const;
  /// Fills by_source. Must be called after all events were added.
  void index_sources();
};

[[nodiscard]] HostEvents host_events(const et_schema::Profile& profile, NameTable& names);

}  // namespace understudy::generator
