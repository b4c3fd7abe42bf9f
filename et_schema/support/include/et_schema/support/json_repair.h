#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "et_schema/support/json_scan.h"

namespace understudy::et_schema {

/// A node's (or event's) text, put right as far as what the observer is known to write wrongly.
struct RepairedObject {
  ScanStatus status = ScanStatus::kCutOff;
  std::size_t end = 0;  ///< where it ends in the input
  std::string text;     ///< repaired; empty unless complete
  bool name_repaired = false;
  std::uint64_t commas_repaired = 0;
};

/// Reads over the object that begins with the "{" at `begin`: escapes a "name" that was written as
/// it is (quotes, newlines, backslashes, bytes that are not UTF-8), adds missing commas, removes
/// trailing ones, and turns bare nan and inf into null. Anything else stays as it is. A name ends
/// where one of `keys` follows. Linear in the length of the object.
[[nodiscard]] RepairedObject repair_object(std::string_view json, std::size_t begin,
                                           std::span<const std::string_view> keys);

}  // namespace understudy::et_schema
