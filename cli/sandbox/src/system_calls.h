#pragma once

#include "cli/sandbox/sandbox.h"

namespace understudy::cli {

/// Denies the system calls that `needs` does not require to all threads, or to this one. Returns
/// whether the kernel supports it.
[[nodiscard]] bool deny_system_calls(const SandboxNeeds& needs);

}  // namespace understudy::cli
