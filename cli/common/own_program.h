#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// Returns the path of this program.
[[nodiscard]] std::string own_program();

/// Returns the path of another program or link of the project. A build has all in one folder. An
/// installed package has `understudy` and `replay` in bin, and links to `understudy` in
/// libexec/understudy. If none exists, returns the path in this program's folder.
[[nodiscard]] std::string sibling(const std::string& name);

/// Returns what libraries say, with names as they are found here: for "docs/formats.md" the
/// address, if the project has one, or the installed file.
[[nodiscard]] std::string as_found_here(const std::string& text);

/// Replaces this process by `program` (execv). Throws Error (failed) if it cannot be started.
[[noreturn]] void become_program(std::string program, std::vector<std::string> arguments);

}  // namespace understudy::cli
