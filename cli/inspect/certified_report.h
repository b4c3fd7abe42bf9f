#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "et_schema/bench/bench.h"

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

}  // namespace understudy::cli
