#pragma once

#include <vector>

#include "et_schema/kineto/kineto.h"

namespace understudy::et_schema {

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

}  // namespace understudy::et_schema
