#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/pages/document/timeline.h"
#include "et_schema/base/input_files.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/operator_trust.h"
#include "generator/resize/batch.h"
#include "generator/resize/world.h"
#include "predictor/calls/card.h"
#include "predictor/collectives/fabrics.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/what_if.h"

namespace understudy::cli {

inline constexpr std::size_t kRowsInText = 12;  ///< of the longer tables; other formats have all
inline constexpr const char* kAllNames =
    "list";  ///< of --card, --network: names in place of a prediction

struct PredictArguments {
  /// table of single operators (CSV, or an operator-times file) or collective rows; empty: predict
  /// a step
  std::string table;
  std::string profile;    ///< profile whose step is predicted; empty: a benchmark
  std::string from_card;  ///< card of the profile; empty: the card that the profile names
  std::vector<std::string> paths;
  bool recorded = false;  ///< costs are the recorded times: no platform, no card
  std::string platform;
  /// Name of a known card or of a device of the platform, or a card's file; empty: in a table, each
  /// row's own.
  std::string card;
  int threads = 0;  ///< threads of operators on a CPU unless specified elsewhere; 0: as measured
  std::vector<predictor::WhatIf> what_if;
  std::optional<generator::BatchSize> batch;
  generator::WorldSize world;
  int ranks_per_node = et_schema::kUsualRanksPerNode;
  std::string network;  ///< between nodes, a name of predictor::known_fabrics(); empty: as measured
  bool assumes_nodes = false;  ///< the user did not say how many ranks share one
  predictor::SimulateOptions options;
  std::string explain;  ///< published steps (CSV), of which one is taken apart
  std::string report;
  std::string trace;
  Format format = Format::kText;
  bool quiet = false;
};

[[nodiscard]] PredictArguments read_predict_arguments(int argc, char** argv);

/// Predicts each row of the table and writes it. If the table goes to a file, prints how far
/// predictions are from the table's own times; of collective rows prints the predictions. Returns
/// the exit status. Throws Error (usage) for formats that operators lack, and if the platform has
/// no collectives.
int predict_operators(const PredictArguments& arguments);

/// Predicts each row of communication in the files and prints the predictions. Throws as
/// predict_operators().
int predict_collectives(const PredictArguments& arguments,
                        const std::vector<et_schema::InputFile>& files);

/// Predicts a recorded step on another card, prints the prediction and writes the report. Returns
/// the exit status. Throws Error (bad input) if there is no profile or no device work, Error
/// (usage) if the card is unknown.
int predict_from_profile(const PredictArguments& arguments);

struct PredictedStep {
  et_schema::Prediction prediction;
  std::string trace;  ///< empty unless --trace asks for it, or a page needs it
};
[[nodiscard]] PredictedStep predict_step(const PredictArguments& arguments, Progress& progress);

/// Returns the parts of a published step: work, rates and waits of the predicted one, and what is
/// left. Throws Error (usage) if no row of the file is of this job.
[[nodiscard]] std::vector<et_schema::PredictedSum> explained(
    const std::string& file, const et_schema::Program& program, const predictor::Card& card,
    const et_schema::Prediction& prediction);

/// Returns the timeline of a trace that predictor::chrome_trace() wrote: lanes by process and
/// thread, with the trace's names, and without ranks for which a page has no room. An empty trace
/// has no lanes.
[[nodiscard]] pages::Timeline timeline_of(const std::string& trace, int slowest_rank);

}  // namespace understudy::cli
