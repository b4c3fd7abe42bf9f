#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "et_schema/bench/bench.h"
#include "pages/html/page.h"

namespace understudy::cli {

/// A report that was measured with the benchmark.
struct CertifiedReport {
  std::string file;
  std::string json;
};

/// 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

/// What a certificate says of a report. Nobody signed the report: what can be checked are ranges,
/// that its ranks' figures add up to the job's, and that the original's times are the benchmark's.
/// Throws Error (bad input): one of these does not hold, a report of another benchmark, or one that
/// cannot be read.
[[nodiscard]] nlohmann::ordered_json measured_by(const CertifiedReport& given,
                                                 const et_schema::Bench& bench,
                                                 const std::string& benchmark_hash);

/// What one who gets a benchmark wants to know before trusting or running it: the hashes of what it
/// is and was made of, versions, what was selected, what was lost, replaced and pinned, its licence
/// as stated, and what a report says. Throws Error (bad input) for a report that measured_by()
/// refuses.
[[nodiscard]] pages::Page certificate_page(const std::string& path,
                                           const std::optional<CertifiedReport>& report,
                                           const std::optional<std::string>& licence);

}  // namespace understudy::cli
