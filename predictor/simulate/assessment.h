#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/base/assessment.h"
#include "et_schema/formats/prediction/prediction.h"

namespace understudy::predictor {

/// Begin what is assumed of a job's nodes and of ranks that are not here, which the verdict
/// repeats.
inline constexpr std::string_view kAssumedNodes = "network: ";
inline constexpr std::string_view kPartOfJob = "not all ranks of a job of ";

/// Returns the name of the device that the prediction is for.
[[nodiscard]] std::string device_name_of(const et_schema::Prediction& prediction);

/// Returns the original's step on the slowest rank: unprofiled if known, else profiled.
[[nodiscard]] std::optional<double> original_ms(const et_schema::Prediction& prediction);

/// Returns the predicted iteration in a sentence, compared with the original and the step without
/// what-ifs.
[[nodiscard]] et_schema::Assessment verdict_of(const et_schema::Prediction& prediction);

}  // namespace understudy::predictor
