#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/formats/json_trace/escaped_name.h"
#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/formats/kineto/kineto.h"
#include "kineto_event.h"
#include "profile_origin.h"

namespace understudy::et_schema {

/// An integer that is a number or, in some versions, a text ("0x0" for streams of AMD devices); -1
/// for anything else.
[[nodiscard]] std::int64_t lenient_integer(JsonPull& value);

/// Events whose begin ("ph": "B") and end ("E") stand apart, as other tools than Kineto write them.
class EventPairs {
 public:
  struct Begun {
    KinetoEvent event;
    KinetoComm comm;
  };

  void begin(const KinetoEvent& event, const KinetoComm& comm) {
    marks_.push_back({{event, comm}});
  }
  /// Of an end only thread and time are used.
  void end(const KinetoEvent& event) { marks_.push_back({{event, {}}, true}); }

  /// The whole events, in order of their ends: on its thread an end is that of the last begin
  /// before it that has none yet. Marks without a partner are counted in `losses`.
  [[nodiscard]] std::vector<Begun> take(Losses& losses);

 private:
  struct Mark {
    Begun begun;
    bool is_end = false;
  };
  std::vector<Mark> marks_;
};

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
  [[nodiscard]] const ProfileOrigin& origin() const { return origin_; }

 private:
  /// Fills in what follows from all that was read of the event.
  void complete(KinetoEvent& event, std::string_view category, bool is_on_device);
  void keep(const KinetoEvent& event, KinetoComm comm);
  void add_memory(JsonPull event);
  void note_process_name(JsonPull event);
  /// Reads the arguments; returns whether they name a device or a stream.
  bool read_arguments(KinetoEvent& event, KinetoComm& comm, JsonPull& object);
  [[nodiscard]] std::string_view take_name(JsonPull& value);

  Profile& profile_;
  KinetoDetail detail_;
  Arena& arena_;
  InternedNames names_;
  std::string shape_;        ///< of the current event
  ArgumentLists arguments_;  ///< of the current event
  EventPairs pairs_;
  /// Process, thread and time at which arrows end, but for Kineto's own. Other tools draw them from
  /// a launch to the device's event, which may have no category.
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> arrow_ends_;
  ProfileOrigin origin_;
  std::string unescaped_;
};

}  // namespace understudy::et_schema
