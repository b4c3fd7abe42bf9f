#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/counted_kernel.h"

namespace understudy::et_schema {

/// Returns true for texts that parse_counted_kernels() reads.
[[nodiscard]] bool has_counted_kernels(std::string_view text);

/// Reads what a profiler counted, one kernel for each launch, in their order (docs/profiles.md,
/// "Counters"): the CSV of Nsight Compute (`ncu --csv --page raw`) or of rocprofv3
/// (…_counter_collection.csv). Values are in bytes, nanoseconds and percent.
/// Leaves out rates, properties of launches and devices, and texts. Throws Error (bad input) if the
/// text is none of these, is damaged, or has no counters.
[[nodiscard]] std::vector<CountedKernel> parse_counted_kernels(std::string_view text,
                                                               const std::string& file);

}  // namespace understudy::et_schema
