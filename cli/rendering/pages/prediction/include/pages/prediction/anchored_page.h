#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "pages/html/page.h"

namespace understudy::pages {

/// A profile's step on another card as a document: device time with its interval, what it consists
/// of, classes of kernels, operators, the host's step. `document`: docs/formats.md, "predict
/// --from-profile"; it is the page's data. `top`: most operators that a text shows.
[[nodiscard]] Page anchored_page(const nlohmann::ordered_json& document, std::size_t top);

}  // namespace understudy::pages
