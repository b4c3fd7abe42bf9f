#pragma once

#include <string>

#include "common/format.h"
#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// The machine code that a benchmark holds: each kernel and architecture with its registers, shared
/// memory and bytes, how many instructions launch it, and its share of the recorded device time;
/// and the kernels without any. Ends in a line feed.
[[nodiscard]] std::string render_kernels(const et_schema::Bench& bench, Format format);

}  // namespace understudy::cli
