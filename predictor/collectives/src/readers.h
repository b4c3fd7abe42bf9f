#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/model/comms.h"
#include "predictor/calls/call.h"
#include "predictor/collectives/rows.h"

namespace understudy::predictor {

inline constexpr double kNsPerUs = 1e3;

/// A file that cannot be read: what was expected of which part, and what is there.
[[noreturn]] void refuse_rows(const std::string& file, std::string field, std::string expected,
                              std::string got);

/// "all_reduce", "allreduce", "AllReduce", "_allgather_base", "alltoallv": letters alone count.
[[nodiscard]] std::optional<CommKind> kind_of_tool_name(std::string_view name);

/// The whole text as a number.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

/// The number of ranks by an all-reduce's own bandwidths, 2 (n - 1) / n = bus / algorithm; nothing
/// where no whole number fits to one in a hundred.
[[nodiscard]] std::optional<int> ranks_of_bus_factor(double factor);

/// "build/all_reduce_perf": the kind of a program of nccl-tests, where the text names one.
[[nodiscard]] std::optional<CommKind> kind_of_program(std::string_view line);

/// What a rank sends its neighbour another one receives: each message counts as both.
void add_receives(ReadCollectives& read);

/// True of a text with a header of nccl-tests' tables.
[[nodiscard]] bool is_nccl_tests_text(std::string_view text);
[[nodiscard]] ReadCollectives parse_nccl_tests_text(std::string_view text, const std::string& file);
[[nodiscard]] ReadCollectives parse_nccl_tests_json(std::string_view text, const std::string& file);

}  // namespace understudy::predictor
