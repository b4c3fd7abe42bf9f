#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "cli/pages/document/page.h"
#include "cli/pages/document/timeline.h"
#include "et_schema/formats/prediction/prediction.h"

namespace understudy::pages {

/// Shows a predicted step: where the time goes, what-ifs, ranks, classes, critical path, operators
/// with their models, and its basis. Its data is the prediction's JSON. `lanes`: timeline of the
/// last iterations; not drawn if empty. Tables show at most `top` rows in texts.
[[nodiscard]] Page prediction_page(const et_schema::Prediction& prediction, const Timeline& lanes,
                                   std::size_t top);

/// Shows a profile's step on another card: device time with its interval and its parts, classes of
/// kernels, operators, the host's step. `document` is the page's data: docs/formats.md, "predict
/// --from-profile". `top`: maximum number of operators in a text.
[[nodiscard]] Page anchored_page(const nlohmann::ordered_json& document, std::size_t top);

}  // namespace understudy::pages
