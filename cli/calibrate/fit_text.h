#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "predictor/platform/platform.h"

namespace understudy::cli {

/// What was fitted: a line a model with its held-out errors; rows that were left out, by reason.
[[nodiscard]] std::string fit_text(const predictor::Platform& platform,
                                   const std::map<std::string, std::uint64_t>& left_out,
                                   const std::string& output);
[[nodiscard]] std::string fit_json(const predictor::Platform& platform,
                                   const std::map<std::string, std::uint64_t>& left_out);
[[nodiscard]] std::string fit_csv(const predictor::Platform& platform);

}  // namespace understudy::cli
