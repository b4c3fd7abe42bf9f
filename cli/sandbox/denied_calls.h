#pragma once

#include "sandbox/sandbox.h"

namespace understudy::cli {

/// Denies all threads of the process, by seccomp, the system calls that code which computes has no
/// use for, but for `needs`. Returns whether the kernel does so.
[[nodiscard]] bool load_denied_calls(const SandboxNeeds& needs);

}  // namespace understudy::cli
