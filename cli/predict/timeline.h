#pragma once

#include <string>

#include "pages/plots/timeline.h"

namespace understudy::cli {

/// The iterations as predictor::chrome_trace() wrote them, for a page: lanes by process and thread,
/// as the trace names them. None of an empty trace.
[[nodiscard]] pages::Timeline timeline_of(const std::string& trace);

}  // namespace understudy::cli
