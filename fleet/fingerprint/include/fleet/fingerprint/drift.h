#pragma once

#include <string>
#include <vector>

#include "fleet/fingerprint/fingerprint.h"

namespace understudy::fleet {

/// A job has drifted where its distance is above this, unless its user says otherwise.
inline constexpr double kDriftAbove = 0.1;

/// One thing that moved.
struct Move {
  std::string part;  ///< "classes", "operators", "shapes", "collectives", "memory", "ranks"
  double distance = 0;
  std::string text;  ///< "attention 12 → 31 % of the time"
};

struct Drift {
  double distance = 0;      ///< 0: the same work; 1: nothing in common. The farthest part's
  std::vector<Move> moves;  ///< the farthest first; what stayed is left out
};

/// How far b's work is from a's.
[[nodiscard]] Drift drift_between(const Fingerprint& a, const Fingerprint& b);

/// The first moves in a sentence; "nothing moved" where nothing did.
[[nodiscard]] std::string sentence_of(const Drift& drift);

}  // namespace understudy::fleet
