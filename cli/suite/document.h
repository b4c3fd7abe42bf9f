#pragma once

#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/document/page.h"
#include "fleet/gallery/suite.h"

namespace understudy::cli {

/// Returns the suite's result. `folder`: the gallery's. As text it ends in the sentences that a
/// page begins with.
[[nodiscard]] pages::Page suite_page(const std::string& folder,
                                     const std::vector<fleet::SuiteReplays>& replays,
                                     Format format);

}  // namespace understudy::cli
