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

/// Times count from the profile's first host event. This is the latest one, some eighteen years
/// later.
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 59U;

/// a + b, or the largest number if the sum exceeds it: sums of damaged times do not overflow.
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
  HostIndex behind = 0;         ///< the first event of its thread that is not below it, or its end
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

/// The host events of a profile, thread after thread. Those of a thread are in the order of their
/// start, each before the events that it encloses.
struct HostEvents {
  std::span<const et_schema::KinetoEvent> sources;  ///< Profile::events, which must outlive this
  std::vector<HostEvent> events;
  std::vector<HostThread> threads;
  std::int64_t first_ns = 0;  ///< the start of the first one, in the profile's time
  /// Events that end before they begin, and those that begin in another one and end behind it.
  std::uint64_t damaged_times = 0;
  std::vector<HostIndex> by_source;  ///< by position in Profile::events

  /// Position of an event of the profile; kNoEvent if it is not among these.
  [[nodiscard]] HostIndex event_of(std::uint32_t source) const {
    return source < by_source.size() ? by_source[source] : kNoEvent;
  }

  /// The event as the profile has it.
  [[nodiscard]] const et_schema::KinetoEvent& source(HostIndex event) const {
    return sources[events[event].source];
  }

  /// Converts a time of the profile to one of these events: 0 to kLatestNs.
  [[nodiscard]] std::int64_t relative(std::int64_t ts_ns) const;

  [[nodiscard]] std::span<const HostEvent> of(const HostThread& thread) const {
    return std::span(events).subspan(thread.begin, thread.end - thread.begin);
  }
  /// The last event of the thread with start_ns <= time_ns; kNoEvent if there is none.
  [[nodiscard]] HostIndex last_started(const HostThread& thread, std::int64_t time_ns) const;
  /// The thread's events with begin_ns <= start_ns < end_ns.
  [[nodiscard]] EventRange started_in(const HostThread& thread, std::int64_t begin_ns,
                                      std::int64_t end_ns) const;
  /// The starts and ends of all events in the order of time, those of a thread nested: an event
  /// that begins inside of another one and ends behind it begins when the other one ends.
  [[nodiscard]] std::vector<Boundary> boundaries() const;
  /// What is right below the event, in order.
  [[nodiscard]] std::vector<HostIndex> children_of(HostIndex event) const;
  /// Those that are `kept`, nested anew; all threads stay.
  [[nodiscard]] HostEvents only(const std::vector<bool>& kept) const;
  [[nodiscard]] const HostThread* find_thread(std::int64_t pid, std::int64_t tid) const;
  /// Fills by_source, once all events are there.
  void index_sources();
};

[[nodiscard]] HostEvents host_events(const et_schema::Profile& profile, NameTable& names);

}  // namespace understudy::generator
