#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::fleet {

/// A change below this is not told, however sure it is.
inline constexpr double kLeastChange = 0.03;

enum class Change : std::uint8_t {
  kNone,
  kSlower,
  kFaster,
  /// Large, but others worked on the machine meanwhile, or its own speed changed as much: nobody
  /// can say whose it is.
  kUnjudged
};

/// What `compare` says of tonight's replay against those of the nights before.
struct Judgement {
  Change change = Change::kNone;
  double ratio = 1;  ///< of the iteration's time, tonight's ÷ before
  std::string text;  ///< "1.31 times as long: matmul (aten::mm 1.92) …"
  std::string detail =
      "{}";  ///< JSON: rows that changed, and fields of the environment that differ
};

/// `before`: reports of one benchmark, with the content of their files' names. At least one.
/// A change has to be shown by `compare`, of the iteration or of classes, and be larger than
/// `least` of the step. Time as compare() takes.
[[nodiscard]] Judgement judge(const std::vector<et_schema::Report>& before,
                              const et_schema::Report& tonight, double least = kLeastChange);

/// What is told of a night whose first replay was judged to have changed, as the replay made again
/// at once was judged. What passes is no change.
[[nodiscard]] Judgement confirmed(const Judgement& first, const Judgement& again);

}  // namespace understudy::fleet
