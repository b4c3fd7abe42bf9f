#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "et_schema/base/interval.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/step_work.h"

namespace understudy::et_schema {

/// Version of the file format. Readers refuse any other.
inline constexpr int kPredictionVersion = 1;

/// Parts of an iteration; their sum is the iteration. docs/prediction.md, "What bounds it".
struct PredictedBreakdown {
  double compute = 0;
  double exposed_communication = 0;
  double host_bound = 0;
  double idle = 0;
  double for_ranks = 0;  ///< of exposed_communication: nothing moves yet, another rank is awaited
  bool operator==(const PredictedBreakdown&) const = default;
};

/// Time of the recorded step: simulated, in the profile, and in the capture.
struct PredictedRecordedStep {
  double predicted_ms = 0;  ///< first simulated iteration; if steps overlap, the iteration's time
  double recorded_ms = 0;   ///< time in the profile, without the observer's cost
  std::optional<double> unprofiled_ms = {};  ///< median of the unprofiled steps
  bool operator==(const PredictedRecordedStep&) const = default;
};

struct PredictedRank {
  int rank = 0;
  double iteration_ms = 0;
  PredictedBreakdown breakdown_ms;
  std::optional<PredictedRecordedStep> recorded_step = {};
  bool operator==(const PredictedRank&) const = default;
};

/// One instruction of a rank.
struct PredictedOperator {
  std::uint64_t instruction = 0;
  std::string name = {};
  std::string op_class = {};
  /// Time with its 90 % interval: on the device if the operator has work there, else on the host.
  Interval ms = {};
  bool on_device = false;  ///< `ms` is
  double host_ms = 0;      ///< time of the issuing thread
  double gap_ms = 0;       ///< host time between the previous operator and this one
  std::string model = {};
  bool extrapolated = false;
  bool operator==(const PredictedOperator&) const = default;
};

/// Sum over the calls of a class or of an operator, or over an operator's stretches of the critical
/// path with the same `where`.
struct PredictedSum {
  std::string name;
  std::uint64_t count = 0;
  double ms = 0;
  /// Of the path: "device", "communication", "host", "host gap", "outside".
  std::string where = {};
  bool operator==(const PredictedSum&) const = default;
};

void members(auto& walk, SameAs<AccountRow> auto& row) {
  walk("what", row.what, "what");
  walk("host_ms", row.host_ms, "host ms");
  walk("device_ms", row.device_ms, "device ms");
  walk("classes", row.class_ms);
}

/// Effect of one what-if question.
struct PredictedChange {
  struct Row {
    std::string name;
    std::uint64_t count = 0;  ///< number of instructions, all ranks
    double before_ms = 0;     ///< Σ of their times, all ranks
    double after_ms = 0;
    bool operator==(const Row&) const = default;
  };
  std::string what_if;    ///< text of the question
  std::vector<Row> rows;  ///< one per operator or collective, ordered by descending change
  bool operator==(const PredictedChange&) const = default;
};

/// What the interval is made of.
struct IntervalPart {
  std::string name;         ///< what is assumed: "sustained rate (matmul)", "the network"
  double variance_ms2 = 0;  ///< (half width below)² + (half width above)²; all add up to both's
  bool operator==(const IntervalPart&) const = default;
};

/// Memory of the rank that needs most: tensors by their lifetimes.
struct PredictedMemory {
  int rank = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t card_bytes = 0;    ///< by its data sheet; 0: unknown, or a host
  std::uint64_t before_bytes = 0;  ///< of tensors from before the step, alive throughout
  std::string largest = {};        ///< at the peak: "3.8 GiB half[40960, 50368] (aten::mm, node 9)"
  bool operator==(const PredictedMemory&) const = default;
};

struct Prediction {
  std::string tool_version;
  std::string benchmark;       ///< base name of the input
  std::string benchmark_hash;  ///< see bench.h
  int world_size = 1;
  Interval iteration_ms;            ///< time with its 90 % interval
  PredictedBreakdown breakdown_ms;  ///< of the slowest rank
  PredictedBreakdown bound_ms;      ///< the critical path by part; idle: waits for the unseen
  /// The largest part of bound_ms: "compute", "communication", "host" or "waits …".
  std::string bound_by;
  std::vector<PredictedRank> ranks;
  int slowest_rank = 0;  ///< the rank that waits least
  std::vector<PredictedSum> classes;
  std::vector<PredictedOperator> operators;  ///< of the slowest rank, in program order
  std::vector<PredictedSum> critical_path;
  std::vector<IntervalPart> interval_parts;  ///< the largest first
  std::vector<PredictedSum> doubtful;        ///< times that are hardly known; `where` says why
  std::vector<PredictedSum> explained;  ///< from a published step to this one; `where` says how
  std::vector<AccountRow> account;      ///< of the recorded ranks' steps; empty without times
  std::string disturbance;              ///< disturbance_text() of the recorded step
  StepWork work = {};                   ///< of the predicted ranks' steps
  std::optional<PredictedMemory> memory = {};
  std::optional<double> free_host_ms = {};        ///< iteration with a host that is never late
  std::optional<double> without_what_if_ms = {};  ///< iteration without what-if changes
  std::vector<PredictedChange> what_if;
  std::vector<std::string> assumptions;         ///< of the figures, other than the costs
  std::map<std::string, std::string> platform;  ///< origin of the costs
  bool operator==(const Prediction&) const = default;
};

[[nodiscard]] nlohmann::ordered_json json_of(const Prediction& prediction);
[[nodiscard]] std::string to_json(const Prediction& prediction);

/// Throws Error (bad input) if the text is not JSON, has another format or version, or a field is
/// missing or has another type.
[[nodiscard]] Prediction parse_prediction(std::string_view text, const std::string& file);

/// The required part of a prediction, which other tools may write too.
struct PredictedIteration {
  Interval ms;                                                 ///< time with its 90 % interval
  std::vector<std::pair<std::string, double>> operators = {};  ///< name, ms
  std::optional<std::string> benchmark_hash = {};
};
/// Throws Error (bad input) as parse_prediction() does, or unless 0 < low ≤ time ≤ high.
[[nodiscard]] PredictedIteration parse_predicted_iteration(std::string_view text,
                                                           const std::string& file);

}  // namespace understudy::et_schema
