#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pages/html/page.h"
#include "pages/timeline/timeline.h"

namespace understudy::pages {

// A predicted step as a page, from plain figures: a simulator or a model fills these in. What is
// not known is NaN or empty, and shown as "–" or left out.

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Where a rank's iteration goes; the parts add up to it.
struct PredictedRank {
  std::string name;  ///< "rank 0", "ranks 1–7"
  double iteration_ms = kUnknown;
  double compute_ms = kUnknown;        ///< operators
  double communication_ms = kUnknown;  ///< exposed: while no operator runs
  double host_ms = kUnknown;           ///< the device waits for the host
  double idle_ms = kUnknown;
};

/// A class of operators, an operator or a collective, an iteration.
struct PredictedRow {
  std::string name;
  std::string detail;  ///< class of an operator; group and size of a collective
  std::uint64_t count = 0;
  double ms = kUnknown;
  double low_ms = kUnknown;  ///< interval, where the model knows one
  double high_ms = kUnknown;
  double recorded_ms = kUnknown;  ///< in the original
  std::string source;             ///< how it is known: "recorded", "model", "bound", "extrapolated"
};

/// A stretch of the critical path.
struct PredictedPathRow {
  std::string name;
  std::string kind;  ///< "operator", "communication", "host", "wait"
  std::uint64_t count = 0;
  double ms = kUnknown;
};

struct PredictionData {
  std::string benchmark;
  std::string platform;  ///< which it was predicted for
  std::string method;    ///< a sentence: by which models, from which calibration
  std::string tool_version;
  std::string date;
  double iteration_ms = kUnknown;
  double low_ms = kUnknown;
  double high_ms = kUnknown;
  double recorded_ms = kUnknown;     ///< the original's step, on its own machine
  double replayed_ms = kUnknown;     ///< measured on that platform, where it was
  double modelled_share = kUnknown;  ///< of the predicted time that a model of that operator gives
  std::vector<std::string> warnings = {};  ///< sentences: what speaks against it
  std::vector<PredictedRank> ranks = {};
  std::vector<PredictedRow> classes = {};
  std::vector<PredictedRow> operators = {};
  std::vector<PredictedRow> collectives = {};
  std::vector<PredictedPathRow> critical_path = {};
  Timeline timeline = {};                                       ///< of an iteration; no lanes: none
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< platform, calibration, options
  std::string json = {};  ///< the prediction's own JSON, the page's data
};
[[nodiscard]] Page prediction_page(const PredictionData& data);

}  // namespace understudy::pages
