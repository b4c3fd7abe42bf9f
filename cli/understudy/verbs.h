#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tables.h"

namespace understudy::cli {

/// All verbs, in the order of their use.
[[nodiscard]] std::vector<Verb> all_verbs();

/// The program that a verb starts, for an `understudy` that lies in `folder`: beside it in a build;
/// of an installed package in ../libexec/understudy, or beside it what is on the path by itself.
/// Throws et_schema::Error: usage (a verb that is not known, or that a build has not), failed (the
/// program is missing).
[[nodiscard]] std::filesystem::path find_program(const std::string& verb,
                                                 const std::filesystem::path& folder);

/// `understudy --help`.
[[nodiscard]] std::string help_text();

/// `understudy completion --help`.
[[nodiscard]] std::string completion_help_text();

/// The script of a shell. Throws et_schema::Error (usage) for a shell that is not known.
[[nodiscard]] std::string_view completion_script(const std::string& shell);

}  // namespace understudy::cli
