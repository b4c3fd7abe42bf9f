#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "composer/mix/compose.h"

namespace understudy::composer {

/// A source and the share of the mix's time that its work should have.
struct FitPart {
  std::string path;
  double share = 0;
};

/// The mix that was found, and how far it is from the wanted one.
struct Fit {
  Plan plan;
  std::vector<std::uint64_t> steps;     ///< by part: whole steps of it in one iteration
  std::vector<double> asked_shares;     ///< by part: of the time, as asked
  std::vector<double> shares;           ///< by part: of the recorded time
  std::map<std::string, double> asked;  ///< operator class → share of time
  std::map<std::string, double> got;
  double distance = 0;      ///< half the sum of the differences between the two
  double iteration_ms = 0;  ///< recorded
};

/// The fewest whole steps of each part that give the wanted recorded time by operator class, within
/// `tolerance` (of distance); 25 iterations of them fit into `minutes`. Whole steps keep shapes
/// and communication as they are. Throws Error: bad input (a benchmark without recorded times),
/// usage (no mix fits into the time: the least that would).
[[nodiscard]] Fit fit(const std::vector<FitPart>& parts, double minutes, double tolerance,
                      const Load& load);

/// A plan of the operators whose name matches a regular expression, as often and with the shapes
/// that the benchmark has them. Throws Error (usage): no regular expression.
[[nodiscard]] Plan micro_plan(const std::string& operators, const std::string& path, int ranks);

}  // namespace understudy::composer
