#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

/// The largest amount of memory that reading and compiling take, as a multiple of the unpacked
/// input (tests/benchmarks/run_benchmarks checks it).
inline constexpr std::uint64_t kMemoryOfInput = 4;

/// Parses "8G", "512M", "64K", "1T" (powers of 1024) or plain bytes; nothing for any other text,
/// and for numbers above 64 bits.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Limits for a process if `available_bytes` are free, shared by `processes` processes like it.
[[nodiscard]] ReadLimits limits_of_memory(std::optional<std::uint64_t> available_bytes,
                                          int processes = 1);

/// Throws Error (failed) if `bytes` of input, `file` among them, are more than may be held.
void check_held(const std::string& file, std::uint64_t bytes, const ReadLimits& limits);

}  // namespace understudy::et_schema
