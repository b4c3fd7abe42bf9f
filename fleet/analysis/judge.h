#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::fleet {

/// Smaller changes are not reported, however certain they are.
inline constexpr double kLeastChange = 0.03;

enum class Change : std::uint8_t {
  kNone,
  kSlower,
  kFaster,
  /// Large, but other programs ran on the machine meanwhile, or the machine's speed changed as
  /// much: the cause is unknown.
  kUnjudged
};
[[nodiscard]] std::string_view to_string(Change change);
[[nodiscard]] std::optional<Change> change_from_string(std::string_view name);

/// Verdict on tonight's replay against the replays of the nights before.
struct Judgement {
  Change change = Change::kNone;
  double ratio = 1;  ///< tonight's iteration time ÷ the earlier one
  std::string text;  ///< "1.31 times as long: matmul (aten::mm 1.92) …"
  /// Rows that changed, and fields of the environment that differ.
  nlohmann::ordered_json detail = nlohmann::ordered_json::object();
};

/// Returns true if others let the replay's threads work: only such nights are held against others.
[[nodiscard]] bool was_quiet(const et_schema::Report& report);

/// Compares tonight's report with earlier quiet ones of the same benchmark, if any. A change counts
/// if `compare` shows it, for the iteration or for classes, and if it exceeds `least` of the step.
/// Takes as long as compare().
[[nodiscard]] Judgement judge(const std::vector<et_schema::Report>& before,
                              const et_schema::Report& tonight, double least = kLeastChange);

/// Returns the verdict on a night whose first replay was judged as changed, given the verdict on
/// the replay that was repeated at once. A change that the second replay does not show is none.
[[nodiscard]] Judgement confirmed(const Judgement& first, const Judgement& again);

}  // namespace understudy::fleet
