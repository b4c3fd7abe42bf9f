#pragma once

#include <cstdint>
#include <string>

namespace understudy::et_schema {

/// A device as a profile describes it. Several kinds of devices can have one name: a whole card, a
/// part of it, and the smaller one of a laptop.
struct RecordedDevice {
  std::string name;               ///< empty: unknown
  std::int64_t processors = 0;    ///< multiprocessors; 0: unknown
  std::int64_t memory_bytes = 0;  ///< 0: unknown
  bool operator==(const RecordedDevice&) const = default;
};

}  // namespace understudy::et_schema
