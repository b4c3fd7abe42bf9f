#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace understudy::et_schema {

/// Bytes that this process can still take: the kernel's MemAvailable, or less if a control group
/// (version 1 or 2, this process' own or one above it) allows less. File pages that nobody needs
/// count as available. Nothing if the kernel does not tell. `root` is the folder above /proc and
/// /sys, for tests.
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::string& root = "");

}  // namespace understudy::et_schema
