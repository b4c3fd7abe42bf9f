#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/trace.h"

namespace understudy::cli {

/// Returns a communication as its trace records it. `batches`: number of batches of sends and
/// receives on its rank so far.
[[nodiscard]] nlohmann::ordered_json call_json(const et_schema::Node& node,
                                               const et_schema::CommCall& call,
                                               std::size_t& batches);

/// Returns each communication of a benchmark's rank with the generator's decisions and their
/// reasons: the reduction, whether it is asynchronous, and what waits for it.
[[nodiscard]] nlohmann::ordered_json calls_json(const et_schema::Bench& bench, std::size_t rank);

enum class CallDetail : std::uint8_t {
  kRecorded,  ///< as recorded in a trace
  kDecided    ///< with the decisions of a benchmark
};

/// Shows the lists `calls` of all ranks.
[[nodiscard]] pages::Section calls_section(const nlohmann::ordered_json& document,
                                           CallDetail detail);

}  // namespace understudy::cli
