#pragma once

#include <cstddef>
#include <string>

#include "et_schema/prediction/prediction.h"

namespace understudy::cli {

/// `top`: rows of the longer tables. `explain`: what each question changes, by operator.
[[nodiscard]] std::string prediction_text(const et_schema::Prediction& prediction, std::size_t top,
                                          bool explain);

}  // namespace understudy::cli
