#include "et_schema/base/shipped.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/shared_library.h"

namespace understudy::et_schema {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the absolute parts of a path. The system's loader also takes ";" between them.
std::vector<std::string> absolute_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
    end = std::min(path.find_first_of(":;", begin), path.size());
    if (path[begin] == '/') {
      parts.push_back(path.substr(begin, end - begin));
    }
  }
  return parts;
}

fs::path prefix() {
  return fs::path(module_directory()).parent_path().parent_path();
}

}  // namespace

void leave_current_folder() {
  for (const char* const name : {"PATH", "LD_LIBRARY_PATH"}) {
    // Without PATH, the system's own folders are searched; an empty one is the current folder.
    const std::vector<std::string> parts = absolute_parts(variable(name));
    parts.empty() ? ::unsetenv(name)
                  : ::setenv(name, fmt::format("{}", fmt::join(parts, ":")).c_str(), 1);
  }
  for (const std::string name : {"UNDERSTUDY_BIN", "UNDERSTUDY_CUPTI", "UNDERSTUDY_NVML",
                                 "UNDERSTUDY_PYTHON", "UNDERSTUDY_TORCH_ROOT"}) {
    const std::string value = variable(name.c_str());
    // A name alone of a Python is looked up on PATH.
    if (!value.empty() && value[0] != '/' &&
        (name != "UNDERSTUDY_PYTHON" || value.find('/') != std::string::npos)) {
      throw usage_error("a variable names a file of the current folder",
                        {.field = name,
                         .expected = "a path that begins with /",
                         .got = value,
                         .hint = fmt::format("{}=$PWD/{}, if its files are yours", name, value)});
    }
  }
}

std::string clone_folder() {
  std::error_code error;
  return fs::exists(prefix() / "CMakeCache.txt", error)
             ? prefix().parent_path().parent_path().string()
             : "";
}

std::string shipped_folder(const std::string& name) {
  const std::string clone = clone_folder();
  const fs::path place = clone.empty() ? prefix() / "share" / name : fs::path(clone) / name;
  if (std::error_code error; !fs::is_directory(place, error)) {
    throw run_failed("a part of Understudy is missing",
                     {.file = place.string(),
                      .expected = "a folder that is installed beside the programs",
                      .got = "no such folder",
                      .hint = "install the package again"});
  }
  return place.string();
}

std::string package_folder() {
  std::error_code error;
  return fs::exists(prefix() / "start.py", error) ? prefix().string()
                                                  : shipped_folder("capture/understudy");
}

std::vector<std::string> pythons() {
  const std::string wanted = variable("UNDERSTUDY_PYTHON");
  std::vector<std::string> found = {wanted};
  const auto add_on_path = [&found](const std::string& name) {
    for (const std::string& folder : absolute_parts(variable("PATH"))) {
      found.push_back(fmt::format("{}/{}", folder, name));
    }
  };
  if (!wanted.empty()) {
    add_on_path(wanted);
  }
  found.push_back(variable("VIRTUAL_ENV") + "/bin/python");
  found.push_back((fs::path(clone_folder()) / ".venv/bin/python").string());
  add_on_path("python3");
  std::erase_if(found, [](const std::string& path) {
    return !path.starts_with('/') || ::access(path.c_str(), X_OK) != 0;
  });
  return found;
}

std::vector<std::string> python_words(const std::string& python, const std::string& module) {
  return {python, "-I", "-B", package_folder() + "/start.py", module};
}

}  // namespace understudy::et_schema
