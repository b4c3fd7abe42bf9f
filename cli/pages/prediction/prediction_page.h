#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "cli/pages/document/page.h"
#include "cli/pages/document/timeline.h"
#include "et_schema/formats/prediction/prediction.h"

namespace understudy::pages {

struct PredictionPageOptions {
  std::size_t top = 15;  ///< rows of the longer tables in texts
  bool explain = false;  ///< what each question changes, by operator
};

/// A predicted step as a document: where the time goes, what-ifs, ranks, classes, critical path,
/// operators with their models, what it rests on. Its data is the prediction's JSON. `lanes`: of
/// its last iterations; none: not drawn.
[[nodiscard]] Page prediction_page(const et_schema::Prediction& prediction, const Timeline& lanes,
                                   const PredictionPageOptions& options);

/// A profile's step on another card as a document: device time with its interval, what it consists
/// of, classes of kernels, operators, the host's step. `document`: docs/formats.md, "predict
/// --from-profile"; it is the page's data. `top`: most operators that a text shows.
[[nodiscard]] Page anchored_page(const nlohmann::ordered_json& document, std::size_t top);

}  // namespace understudy::pages
