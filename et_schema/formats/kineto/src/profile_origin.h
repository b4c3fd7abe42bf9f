#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// Finds out which program wrote a file of events, and of how many processes they are.
class ProfileOrigin {
 public:
  /// Notes how a process is called: its pid, or its "process_name".
  void note_process(std::string_view name);
  /// Notes an event by its category and its pid, without quotes.
  void note(KinetoCategory category, std::string_view pid);

  /// Throws Error (bad input) if another program than Kineto wrote the file and it lacks what is
  /// read: categories, or operators' arguments at the level of detail that has them; also if
  /// operators, or calls of the runtime, are of several processes, in each of which ids and
  /// correlations count from 1.
  void check(const Profile& profile, KinetoDetail detail) const;

 private:
  using CountByPid = std::map<std::string, std::size_t, std::less<>>;
  std::size_t writer_ = 0;   ///< position in the table of writers
  std::uint64_t known_ = 0;  ///< events in a category of Kineto's
  CountByPid operators_;
  CountByPid runtime_calls_;
};

}  // namespace understudy::et_schema
