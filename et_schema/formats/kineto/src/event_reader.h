#pragma once

#include <cstdint>
#include <optional>
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

/// Reads an integer that is a number or, in some versions, a text ("0x0" for streams of AMD
/// devices). Returns -1 for anything else.
[[nodiscard]] std::int64_t lenient_integer(JsonPull& value);

/// Joins events with separate begin ("ph": "B") and end ("E"), which other tools than Kineto write.
class EventPairs {
 public:
  struct Begun {
    KinetoEvent event;
    KinetoComm comm;
  };

  void begin(const KinetoEvent& event, const KinetoComm& comm) {
    marks_.push_back({{event, comm}});
  }
  /// Adds an end; only its thread and time are used.
  void end(const KinetoEvent& event) { marks_.push_back({{event, {}}, true}); }

  /// Returns the whole events, ordered by end. An end belongs to the last open begin on its thread.
  /// Marks without a partner are counted in `losses`.
  [[nodiscard]] std::vector<Begun> take(Losses& losses);

 private:
  struct Mark {
    Begun begun;
    bool is_end = false;
  };
  std::vector<Mark> marks_;
};

/// Reads the members of "traceEvents" into a profile: events with a duration, communication
/// metadata and allocations. All others are counted by their phase.
class EventReader {
 public:
  EventReader(Profile& profile, Arena& arena, KinetoDetail detail)
      : profile_(profile), detail_(detail), arena_(arena), names_(arena, profile.losses) {}

  /// Reads one event. Throws JsonDamage, or Error (bad input) if a time cannot be read.
  void read(JsonPull& json);
  /// Adds the events with separate begin and end. Must be called after the last read().
  void close();
  [[nodiscard]] const ProfileOrigin& origin() const { return origin_; }

 private:
  /// Sets the fields that depend on several others of the event.
  void complete(KinetoEvent& event, std::string_view category, bool is_on_device);
  void keep(const KinetoEvent& event, KinetoComm comm);
  void add_memory(JsonPull event);
  void add_range(std::string_view kernel, std::optional<JsonPull> arguments);
  void note_process_name(JsonPull event);
  /// Reads the arguments. Returns true if they name a device or a stream.
  bool read_arguments(KinetoEvent& event, KinetoComm& comm, JsonPull& object);
  [[nodiscard]] std::string_view take_name(JsonPull& value);

  Profile& profile_;
  KinetoDetail detail_;
  Arena& arena_;
  InternedNames names_;
  std::string shape_;        ///< of the current event
  ArgumentLists arguments_;  ///< of the current event
  EventPairs pairs_;
  /// Process, thread and time of the ends of flow arrows, except Kineto's own. Other tools draw
  /// arrows from a launch to the device's event, which may have no category.
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> arrow_ends_;
  ProfileOrigin origin_;
  std::string unescaped_;
};

}  // namespace understudy::et_schema
