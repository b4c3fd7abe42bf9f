#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pages/html/page.h"

namespace understudy::cli {

// Of a night's summary ("understudy-night").

/// "1 BROKEN, 2 drifted".
[[nodiscard]] std::string counts_of_night(const nlohmann::ordered_json& night);

/// The summary as a document; bad where something broke or got slower.
[[nodiscard]] pages::Page night_summary_page(const std::string& summary);

}  // namespace understudy::cli
