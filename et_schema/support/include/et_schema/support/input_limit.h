#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "et_schema/support/input_files.h"

namespace understudy::et_schema {

/// What reading and compiling takes of memory at most, as a multiple of the unpacked input
/// (tests/benchmarks/run_benchmarks holds it).
inline constexpr std::uint64_t kMemoryOfInput = 4;

/// "8G", "512M", "64K", "1T" (powers of 1024) or plain bytes; nothing for any other text, and for
/// what 64 bits do not hold.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Limits for a process that has so much memory available, shared by `processes` like it.
[[nodiscard]] ReadLimits limits_of_memory(std::optional<std::uint64_t> available_bytes,
                                          int processes = 1);

/// Throws Error (failed) if so many bytes of input, `file` among them, are more than may be held.
void check_held(const std::string& file, std::uint64_t bytes, const ReadLimits& limits);

}  // namespace understudy::et_schema
