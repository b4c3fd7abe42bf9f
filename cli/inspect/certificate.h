#pragma once

#include <optional>
#include <string>

#include "common/command_line.h"
#include "inspect/certified_report.h"

namespace understudy::cli {

/// What one who gets a benchmark wants to know before trusting or running it: the hashes of what it
/// is and was made of, versions, what was selected, what was lost, replaced and pinned, its licence
/// as stated, and what a report says. Throws Error (bad input) for a report that measured_by()
/// refuses.
[[nodiscard]] std::string render_certificate(const std::string& path,
                                             const std::optional<CertifiedReport>& report,
                                             const std::optional<std::string>& licence,
                                             Format format);

}  // namespace understudy::cli
