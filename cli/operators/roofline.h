#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"

namespace understudy::cli {

/// Shows measured calls, operators and classes under the ceilings of their device: work, rates,
/// shares of the ceilings, and what bounds them. `paths`: operator-times files or tables.
/// `platform`: file of `calibrate`; unset: what the files know of their machine, else the card's
/// data sheet. Throws Error (usage) if no ceiling is known, Error (bad input) as
/// predictor::read_measured_calls() does.
[[nodiscard]] pages::Page roofline_page(const std::vector<std::string>& paths,
                                        const std::optional<std::string>& platform);

}  // namespace understudy::cli
