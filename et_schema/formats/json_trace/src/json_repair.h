#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "et_schema/base/json_scan.h"

namespace understudy::et_schema {

/// The text of a node or event, with the known mistakes of the observer corrected.
struct RepairedObject {
  ScanStatus status = ScanStatus::kCutOff;
  std::size_t end = 0;        ///< where the object ends in the input
  std::string text;           ///< repaired; empty unless complete
  std::uint64_t repairs = 0;  ///< of the name and of commas
};

/// Reads the object that the text begins with and repairs it: escapes a "name" that was
/// written unescaped (quotes, newlines, backslashes, bytes that are not UTF-8), adds missing
/// commas, removes trailing ones, and turns bare nan and inf into null. Anything else is unchanged.
/// An unescaped name ends before the first of `keys` that follows it. Takes linear time.
[[nodiscard]] RepairedObject repair_object(std::string_view json,
                                           std::span<const std::string_view> keys);

}  // namespace understudy::et_schema
