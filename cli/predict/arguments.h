#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/operator_trust.h"
#include "generator/resize/batch.h"
#include "predict/from_profile.h"
#include "predict/operators.h"
#include "predict/overlap.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/what_if.h"

namespace understudy::cli {

struct PredictArguments {
  std::optional<OperatorsArguments> operators;       ///< of single ones: all below means nothing
  std::optional<FromProfileArguments> from_profile;  ///< of a profile's step: likewise
  std::vector<std::string> paths;
  et_schema::AllowedOperators allowed_operators;
  std::vector<std::string> op_maps;
  bool recorded = false;
  std::string platform;
  std::string card;
  std::string device;
  int threads = 0;
  std::vector<predictor::WhatIf> what_if;
  std::optional<generator::BatchSize> batch;
  std::optional<int> world_size;
  std::optional<predictor::GatherSize> gathers;
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

}  // namespace understudy::cli
