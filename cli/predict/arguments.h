#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/pages/document/timeline.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/operator_trust.h"
#include "generator/resize/batch.h"
#include "generator/resize/world.h"
#include "overlap.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/what_if.h"

namespace understudy::cli {

struct PredictArguments {
  std::string table;      ///< of single operators: CSV, or an operator-times file; empty: a step
  std::string output;     ///< of that table; empty: standard output
  std::string profile;    ///< whose step is predicted; empty: a benchmark's
  std::string from_card;  ///< that it is of; empty: the one that it names
  std::vector<std::string> paths;
  et_schema::AllowedOperators allowed_operators;
  std::vector<std::string> op_maps;
  bool recorded = false;
  std::string platform;
  std::string card;    ///< a known card's name, or its file; empty: `device`
  std::string device;  ///< its name; empty: of a table the rows' own
  int threads = 0;     ///< of operators on a CPU, where nothing else says; 0: as measured
  std::vector<predictor::WhatIf> what_if;
  std::optional<generator::BatchSize> batch;
  generator::WorldSize world;
  int ranks_per_node = et_schema::kUsualRanksPerNode;
  AskedOverlap overlap;
  predictor::SimulateOptions options;  ///< without overlap
  std::string report;
  std::string trace;
  bool explain = false;
  std::size_t top = 12;
  Format format = Format::kText;
  bool quiet = false;
};

[[nodiscard]] PredictArguments read_predict_arguments(int argc, char** argv);

/// Predicts each row of the table and writes it. Says on standard output, where that does not take
/// the table, how far predictions are from times that the table holds. The exit status.
int predict_operators(const PredictArguments& arguments);

/// A recorded step on a card that nobody ran it on: prints the prediction, writes the report. The
/// exit status. Throws Error: bad input (no profile, nothing on a device), usage (a card that is
/// not known).
int predict_from_profile(const PredictArguments& arguments);

struct PredictedStep {
  et_schema::Prediction prediction;
  std::string trace;  ///< empty unless --trace asks for it, or a page needs it
};
[[nodiscard]] PredictedStep predict_step(const PredictArguments& arguments, Progress& progress);

/// The iterations as predictor::chrome_trace() wrote them, for a page: lanes by process and thread,
/// as the trace names them. None of an empty trace.
[[nodiscard]] pages::Timeline timeline_of(const std::string& trace);

}  // namespace understudy::cli
