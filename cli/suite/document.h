#pragma once

#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/document/page.h"
#include "fleet/gallery/suite.h"

namespace understudy::cli {

/// Shows the suite's result. `folder` is the gallery's name. A page begins with the sentences about
/// the platforms; a text ends with them.
[[nodiscard]] pages::Page suite_page(const std::string& folder,
                                     const std::vector<fleet::SuiteReplays>& replays,
                                     Format format);

}  // namespace understudy::cli
