#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "et_schema/json_trace/escaped_name.h"
#include "et_schema/json_trace/json_pull.h"
#include "et_schema/kineto/kineto.h"
#include "et_schema/support/arena.h"
#include "event_pairs.h"
#include "kineto_event.h"

namespace understudy::et_schema {

/// An integer that is a number or, in some versions, a text ("0x0" for streams of AMD devices); -1
/// for anything else.
[[nodiscard]] std::int64_t lenient_integer(JsonPull& value);

/// Reads the members of "traceEvents" into a profile: events with a duration, what communications
/// say of themselves, allocations. All others are counted by their phase.
class EventReader {
 public:
  EventReader(Profile& profile, Arena& arena, KinetoDetail detail)
      : profile_(profile), detail_(detail), arena_(arena), names_(arena, profile.losses) {}

  /// Takes one event. Throws JsonDamage, and Error (bad input) for a time that cannot be read.
  void read(JsonPull& json);
  /// Adds the events whose begin and end stood apart. To be called after the last read().
  void close();

 private:
  /// Fills in what follows from all that was read of the event.
  void complete(KinetoEvent& event, std::string_view category, bool is_on_device);
  void keep(const KinetoEvent& event, KinetoComm comm);
  void add_memory(JsonPull event);
  /// Reads the arguments; returns whether they name a device or a stream.
  bool read_arguments(KinetoEvent& event, KinetoComm& comm, JsonPull& object);
  /// Takes a member of a known name; false if the name is not known.
  bool read_communication(KinetoComm& comm, std::string_view key, JsonPull& value);
  [[nodiscard]] std::string_view take_name(JsonPull& value);

  Profile& profile_;
  KinetoDetail detail_;
  Arena& arena_;
  InternedNames names_;
  std::string shape_;        ///< of the current event
  ArgumentLists arguments_;  ///< of the current event
  EventPairs pairs_;
  std::string unescaped_;
};

}  // namespace understudy::et_schema
