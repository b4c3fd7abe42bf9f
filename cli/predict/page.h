#pragma once

#include <string>

#include "et_schema/prediction/prediction.h"
#include "pages/html/page.h"

namespace understudy::cli {

/// A prediction as a page. `trace`: the iterations as predictor::chrome_trace() wrote them, for the
/// timeline; empty: none.
[[nodiscard]] pages::Page prediction_as_page(const et_schema::Prediction& prediction,
                                             const std::string& trace);

}  // namespace understudy::cli
