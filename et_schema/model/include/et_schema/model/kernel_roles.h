#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// Why neither a replay nor source code has the kernel of a compiled graph.
inline constexpr const char* kNoKernelCode =
    "a compiled kernel: a benchmark does not hold its code; rank-R.compiled.json of a capture does";

/// What a C++ kernel of a compiled graph did with each of its arguments, of the text that stands
/// behind them: "r" read, "w" wrote, "rw" both, "-" a number. Nothing unless there is a word for
/// each of the arguments.
[[nodiscard]] std::optional<std::vector<std::string_view>> kernel_roles(std::string_view text,
                                                                        std::size_t arguments);

}  // namespace understudy::et_schema
