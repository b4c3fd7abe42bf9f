#pragma once

#include <cstdint>
#include <string>

namespace understudy::et_schema {

/// Returns the name of this host's processor. Arm's cores have none, but the number of their part:
/// 0xd4f is Neoverse V2. Empty if the system tells neither.
[[nodiscard]] std::string processor_model();

/// Cores that this process may use.
[[nodiscard]] int usable_cores();

/// Returns the bytes of the data cache of that level that this host's first core uses; 0 if the
/// system does not report it.
[[nodiscard]] std::int64_t cache_bytes(int level);

}  // namespace understudy::et_schema
