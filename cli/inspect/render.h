#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/pytorch_et/trace_files.h"
#include "inspect/summary.h"

namespace understudy::cli {

/// The contract's JSON: {"ranks":[{"rank","schema","nodes","operators","collectives","losses"}, …]}
/// and, where asked for, "ops", "calls", "tensors", "tree" in each rank. Ends in a line feed.
[[nodiscard]] std::string to_json(const et_schema::TraceSet& set,
                                  const std::vector<RankSummary>& ranks,
                                  const InspectOptions& options);

/// The same, before it is text.
[[nodiscard]] nlohmann::ordered_json document_of(const et_schema::TraceSet& set,
                                                 const std::vector<RankSummary>& ranks,
                                                 const InspectOptions& options);

/// Tables for people.
[[nodiscard]] std::string to_text(const et_schema::TraceSet& set,
                                  const std::vector<RankSummary>& ranks,
                                  const InspectOptions& options);

/// One table: the one detail that was asked for, else all figures of the JSON.
[[nodiscard]] std::string to_csv(const et_schema::TraceSet& set,
                                 const std::vector<RankSummary>& ranks,
                                 const InspectOptions& options);

}  // namespace understudy::cli
