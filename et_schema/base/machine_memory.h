#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace understudy::et_schema {

/// Returns the bytes that this process can still allocate: the kernel's MemAvailable, or less if a
/// control group allows less (version 1 or 2, this process' own or one above it). Page cache that
/// is not in use counts as available. Returns nothing if the kernel does not report it. `root` is
/// the folder above /proc and /sys, for tests.
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::string& root = "");

}  // namespace understudy::et_schema
