#pragma once

#include "sandbox/sandbox.h"

namespace understudy::cli {

/// Restricts the calling thread, by Landlock, to making, writing, renaming and removing the files
/// that `needs` names. Returns whether the kernel does so.
[[nodiscard]] bool restrict_to_writable(const SandboxNeeds& needs);

}  // namespace understudy::cli
