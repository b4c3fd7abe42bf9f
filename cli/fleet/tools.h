#pragma once

#include <string>

#include "fleet/database/connection.h"
#include "fleet/nightly/options.h"

namespace understudy::cli {

/// Programs of ours beside this one, `replay` only for what replays: a machine that makes
/// benchmarks needs no LibTorch. Throws Error (failed) where one is missing.
[[nodiscard]] fleet::Tools find_tools(bool replays);

/// A store's path as the database keeps it: whole, for programs that start elsewhere.
[[nodiscard]] std::string whole_path(const std::string& folder);

/// Remembers a store's whole path, in place of any other.
void remember_store(fleet::Connection& connection, const std::string& folder);

/// The store's folder: what was asked for, which is remembered, else what was remembered. Throws
/// Error (usage) where there is neither.
[[nodiscard]] std::string store_folder(fleet::Connection& connection, const std::string& asked);

}  // namespace understudy::cli
