#pragma once

#include <optional>
#include <string>

#include "common/command_line.h"
#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// A report that was measured with the benchmark.
struct CertifiedReport {
  std::string file;
  std::string json;
};

/// What one who gets a benchmark wants to know before trusting or running it: the hashes of what it
/// is and was made of, versions, what was selected, what was lost, replaced and pinned, its licence
/// as stated, and what a report measured. Throws Error (bad input): a report of another benchmark,
/// or that cannot be read.
[[nodiscard]] std::string render_certificate(const std::string& path,
                                             const std::optional<CertifiedReport>& report,
                                             const std::optional<std::string>& licence,
                                             Format format);

}  // namespace understudy::cli
