#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "et_schema/kineto/kineto.h"

namespace understudy::et_schema {

/// Finds out which program wrote a file of events, and of how many processes they are.
class ProfileOrigin {
 public:
  /// Notes how a process is called: its pid, or its "process_name".
  void note_process(std::string_view name);
  /// Notes an event by its category and its pid, without quotes.
  void note(KinetoCategory category, std::string_view pid);

  /// The program that wrote the file; empty if nothing says that it is not Kineto.
  [[nodiscard]] std::string_view writer() const;

  /// Throws Error (bad input) if another program than Kineto wrote the file and the file lacks what
  /// is read: categories, or operators' arguments at the level of detail that has them.
  void refuse_foreign(const Profile& profile, KinetoDetail detail) const;
  /// Throws Error (bad input) if operators, or calls of the runtime, are of several processes. Ids
  /// and correlations are unique within a process alone.
  void refuse_several_processes() const;

 private:
  const char* sign_ = nullptr;  ///< of the writer; null: none was seen
  std::uint64_t known_ = 0;     ///< events in a category of Kineto's
  using CountByPid = std::map<std::string, std::size_t, std::less<>>;
  CountByPid operators_;
  CountByPid runtime_calls_;
};

}  // namespace understudy::et_schema
