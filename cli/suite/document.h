#pragma once

#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "fleet/gallery/suite.h"

namespace understudy::cli {

/// Shows the suite's result. `folder` is the gallery's name.
[[nodiscard]] pages::Page suite_page(const std::string& folder,
                                     const std::vector<fleet::SuiteReplays>& replays);

}  // namespace understudy::cli
