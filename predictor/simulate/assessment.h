#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/base/assessment.h"
#include "et_schema/formats/prediction/prediction.h"

namespace understudy::predictor {

/// Begin the assumptions that matter most, which are findings.
inline constexpr std::string_view kNetwork = "network: ";
inline constexpr std::string_view kHost = "host: ";
inline constexpr std::string_view kPartOfJob = "not all ranks of a job of ";
/// Begins the one that the verdict says first.
inline constexpr std::string_view kDoubts = "profiles: ";
inline constexpr std::string_view kKeptTime = "as recorded: ";  ///< comes first
/// Key of Prediction::platform: the device that the original ran on.
inline constexpr const char* kRecordedOn = "recorded on";
[[nodiscard]] bool is_finding(std::string_view assumption);

/// Returns the name of the device that the prediction is for.
[[nodiscard]] std::string device_name_of(const et_schema::Prediction& prediction);

/// Returns the original's longest step of any rank: unprofiled if known, else profiled.
[[nodiscard]] std::optional<double> original_ms(const et_schema::Prediction& prediction);

/// Returns the three largest parts of the interval, "sustained rate (matmul) 62 %, …".
[[nodiscard]] std::string interval_text(const et_schema::Prediction& prediction);

/// Returns the predicted iteration and what bounds it in a sentence. Findings: the original, the
/// step without what-ifs, what is hardly known, a free host, the first assumptions.
[[nodiscard]] et_schema::Assessment verdict_of(const et_schema::Prediction& prediction);

}  // namespace understudy::predictor
