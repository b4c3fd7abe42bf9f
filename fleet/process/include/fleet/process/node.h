#pragma once

#include <string>

namespace understudy::fleet {

/// What this machine is called where results of alike machines are one series: its processor and
/// cores, "amd-epyc-9b14-2c". Lower case, digits and dashes.
[[nodiscard]] std::string default_platform();

/// Cores that this process may use.
[[nodiscard]] int core_count();

/// "2026-11-21T02:00:00Z". Only ever shown: nothing is decided by the wall clock.
[[nodiscard]] std::string now_utc();

}  // namespace understudy::fleet
