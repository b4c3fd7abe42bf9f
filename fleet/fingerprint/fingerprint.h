#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"

namespace understudy::fleet {

/// All calls of an operator, by name.
struct OperatorPrint {
  std::uint64_t calls = 0;   ///< of all ranks
  double share = 0;          ///< of the recorded time; of the calls where none is recorded
  double log2_elements = 0;  ///< mean over its calls of log2(1 + elements of all its tensors)
  std::string shapes;        ///< of its inputs, in most of its calls: "512×1024 · 1024×1024"
};

/// All calls of a collective.
struct CollectivePrint {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  ///< of their tensors, all ranks
};

/// What work a benchmark does, without what was measured of it anywhere but in its own trace.
/// docs/metrics.md, "Fleet", has the formulas.
struct Fingerprint {
  int world_size = 1;
  bool is_timed = false;  ///< shares are of recorded time, not of calls
  std::map<std::string, double> class_share;
  std::map<std::string, OperatorPrint> operators;
  std::map<std::string, CollectivePrint> collectives;
  std::uint64_t live_peak_bytes = 0;  ///< of intermediates, the largest rank's
  std::uint64_t external_bytes = 0;   ///< of what is older than the step, likewise
  double step_ms = 0;                 ///< recorded; 0: not recorded
  std::uint64_t losses = 0;           ///< all of them, summed
};

/// Linear in the size of the programs.
[[nodiscard]] Fingerprint fingerprint_of(const et_schema::Bench& bench);

/// One line of JSON, and back. Throws Error (bad input) on anything else.
[[nodiscard]] std::string to_json(const Fingerprint& print);
[[nodiscard]] Fingerprint parse_fingerprint(const std::string& json, const std::string& file);

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
