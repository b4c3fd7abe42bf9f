#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/trace_files.h"
#include "inspect/summary.h"

namespace understudy::cli {

/// The contract's JSON: {"ranks":[{"rank","schema","nodes","operators","collectives","losses"}, …]}
/// and, where asked for, "ops", "calls", "tensors", "tree" in each rank. Ends in a line feed.
[[nodiscard]] std::string to_json(const et_schema::TraceSet& set,
                                  const std::vector<RankSummary>& ranks,
                                  const InspectOptions& options);

/// Tables for people.
[[nodiscard]] std::string to_text(const et_schema::TraceSet& set,
                                  const std::vector<RankSummary>& ranks,
                                  const InspectOptions& options);

/// One table: the counts, or the one detail that was asked for.
[[nodiscard]] std::string to_csv(const std::vector<RankSummary>& ranks,
                                 const InspectOptions& options);

/// Operators by falling count, then by name.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> by_count(
    const std::map<std::string, std::uint64_t>& counts);

}  // namespace understudy::cli
