#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "et_schema/base/json_fields.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::fleet {

/// All calls of an operator, by name.
struct OperatorPrint {
  std::uint64_t calls = 0;   ///< of all ranks
  double share = 0;          ///< of the recorded time, or of the calls if no time is recorded
  double log2_elements = 0;  ///< mean over its calls of log2(1 + elements of all its tensors)
  std::string shapes;        ///< most frequent shapes of its inputs: "512×1024 · 1024×1024"
};

/// All calls of a collective.
struct CollectivePrint {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  ///< of their tensors, over all ranks
};

/// The work of a benchmark, with measurements only from its own trace. docs/metrics.md, "Fleet",
/// has the formulas.
struct Fingerprint {
  int world_size = 1;
  bool is_timed = false;  ///< shares are of recorded time, not of calls
  std::map<std::string, double> class_share;
  std::map<std::string, OperatorPrint> operators;
  std::map<std::string, CollectivePrint> collectives;
  std::uint64_t live_peak_bytes = 0;  ///< of intermediates, on the rank with the most
  std::uint64_t external_bytes = 0;   ///< of tensors older than the step, on the rank with the most
  double step_ms = 0;                 ///< recorded; 0: not recorded
  std::uint64_t losses = 0;           ///< sum of all losses
};

/// Returns the fingerprint of a benchmark. Linear in the size of the programs.
[[nodiscard]] Fingerprint fingerprint_of(const et_schema::Bench& bench);

/// Converts to JSON, and back (et_schema/base/json_record.h). Reading throws Error (bad input) on
/// anything else.
[[nodiscard]] nlohmann::ordered_json json_value(const Fingerprint& print);
void read_value(const et_schema::JsonField& field, Fingerprint& print);

/// Default threshold: a job has drifted if its distance is larger.
inline constexpr double kDriftAbove = 0.1;

/// One aspect of the work that changed.
struct Move {
  std::string part;  ///< "classes", "operators", "shapes", "collectives", "memory", "ranks"
  double distance = 0;
  std::string text;  ///< "attention 12 → 31 % of the time"
};

struct Drift {
  double distance = 0;      ///< of the farthest part. 0: the same work; 1: nothing in common
  std::vector<Move> moves;  ///< the largest first, without unchanged parts
};

/// Returns the distance of b's work from a's.
[[nodiscard]] Drift drift_between(const Fingerprint& a, const Fingerprint& b);

/// Returns the first moves as a sentence; "nothing moved" if there are none.
[[nodiscard]] std::string sentence_of(const Drift& drift);

}  // namespace understudy::fleet
