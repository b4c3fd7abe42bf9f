#pragma once

#include <string>

#include "fleet/database/connection.h"
#include "fleet/nightly/options.h"

namespace understudy::cli {

/// Path of this program.
[[nodiscard]] std::string own_program();

/// Programs of ours beside this one. Throws Error (failed) where one is missing.
[[nodiscard]] fleet::Tools find_tools();

/// The store's folder: what was asked for, which is remembered, else what was remembered. Throws
/// Error (usage) where there is neither.
[[nodiscard]] std::string store_folder(fleet::Connection& connection, const std::string& asked);

}  // namespace understudy::cli
