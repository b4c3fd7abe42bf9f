#pragma once

#include <string>

#include "common/progress.h"
#include "et_schema/prediction/prediction.h"
#include "predict/arguments.h"

namespace understudy::cli {

struct PredictedStep {
  et_schema::Prediction prediction;
  std::string trace;  ///< empty unless --trace asks for it, or a page needs it
};

[[nodiscard]] PredictedStep predict_step(const PredictArguments& arguments, Progress& progress);

}  // namespace understudy::cli
