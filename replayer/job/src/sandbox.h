#pragma once

#include <string>
#include <vector>

#include "replayer/options/options.h"

namespace understudy::replayer {

/// What this process has still to do.
struct SandboxNeeds {
  std::vector<std::string> outputs;  ///< files that it will write, and rename into place
  bool opens_sockets = false;        ///< to other ranks, or through a GPU's libraries
};

/// Gives up, on this thread and those that it starts from here on, and for good: starting programs,
/// tracing other processes, opening sockets, and opening, making, renaming and removing files, but
/// for `needs`. What is open stays open. Reading files stays possible. The kernel enforces it
/// (seccomp, Landlock), below any code that runs here.
///
/// Returns what holds, for the report: "files, programs, sockets", with "files" missing where the
/// kernel has no Landlock; "off". Throws Error (failed) under Sandbox::kOn if something does not.
[[nodiscard]] std::string enter_sandbox(Sandbox sandbox, const SandboxNeeds& needs);

}  // namespace understudy::replayer
