#pragma once

#include <string>
#include <vector>

namespace understudy::et_schema {

/// Drops relative and empty parts of PATH and LD_LIBRARY_PATH, which mean the current folder: it
/// may hold a stranger's files. Throws Error (usage) if a variable names a file of that folder.
void leave_current_folder();

/// Returns the folder of the clone that this program was built in; "" if it is installed.
[[nodiscard]] std::string clone_folder();

/// Returns a folder of data that belongs to the project, such as "gallery": that of the installed
/// package, or of the clone. Throws Error (failed) if it is not there.
[[nodiscard]] std::string shipped_folder(const std::string& name);

/// Returns the folder of the Python package. A wheel's programs lie within it.
[[nodiscard]] std::string package_folder();

/// Returns this system's Pythons: UNDERSTUDY_PYTHON (a path, or a name on PATH), VIRTUAL_ENV's, the
/// clone's, each python3 on PATH.
[[nodiscard]] std::vector<std::string> pythons();

/// Returns the words that run main() of a module of the Python package. Every Python is started so:
/// nothing is imported from the current folder (capture/understudy/start.py).
[[nodiscard]] std::vector<std::string> python_words(const std::string& python,
                                                    const std::string& module);

}  // namespace understudy::et_schema
