#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/trace.h"

namespace understudy::cli {

/// A communication of a trace, as the trace tells it. `batches`: those of sends and receives on its
/// rank so far.
[[nodiscard]] nlohmann::ordered_json call_json(const et_schema::Node& node,
                                               const et_schema::CommCall& call,
                                               std::size_t& batches);

/// Each communication of a rank of a benchmark, with what was decided of it: its reduction, whether
/// it is asynchronous, what joins it; and why.
[[nodiscard]] nlohmann::ordered_json calls_json(const et_schema::Bench& bench, std::size_t rank);

enum class CallDetail : std::uint8_t {
  kRecorded,  ///< what a trace tells
  kDecided    ///< and what was decided of it in a benchmark
};

/// Of the lists `calls` of all ranks.
[[nodiscard]] pages::Section calls_section(const nlohmann::ordered_json& document,
                                           CallDetail detail);

}  // namespace understudy::cli
