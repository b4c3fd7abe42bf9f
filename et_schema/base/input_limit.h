#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

/// Peak memory of reading and compiling, as a multiple of the unpacked input
/// (tests/benchmarks/run_benchmarks checks it).
inline constexpr std::uint64_t kMemoryOfInput = 4;

/// Parses "8G", "512M", "64K", "1T" (powers of 1024) or plain bytes. Returns nothing for any other
/// text, and for numbers above 64 bits.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Returns the limits of one of `processes` equal processes that share `available_bytes`.
[[nodiscard]] ReadLimits limits_of_memory(std::optional<std::uint64_t> available_bytes,
                                          int processes = 1);

/// Throws Error (failed) if the input's size including `file`, `bytes`, exceeds max_held_bytes.
void check_held(const std::string& file, std::uint64_t bytes, const ReadLimits& limits);

}  // namespace understudy::et_schema
