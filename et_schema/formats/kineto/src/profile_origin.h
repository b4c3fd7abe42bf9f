#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// Detects which program wrote a file of events, and the number of processes in it.
class ProfileOrigin {
 public:
  /// Records the name of a process: its pid, or its "process_name".
  void note_process(std::string_view name);
  /// Records an event's category and its pid, without quotes.
  void note(KinetoCategory category, std::string_view pid);

  /// Throws Error (bad input) if a program other than Kineto wrote the file and it lacks
  /// categories, or operators' arguments if `detail` needs them. Also throws if operators or
  /// runtime calls belong to several processes, since ids and correlations count from 1 in each.
  void check(const Profile& profile, KinetoDetail detail) const;

 private:
  using CountByPid = std::map<std::string, std::size_t, std::less<>>;
  std::size_t writer_ = 0;   ///< index into the table of writers
  std::uint64_t known_ = 0;  ///< events with a category of Kineto
  CountByPid operators_;
  CountByPid runtime_calls_;
};

}  // namespace understudy::et_schema
