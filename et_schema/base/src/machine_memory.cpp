#include "et_schema/base/machine_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace understudy::et_schema {
namespace {

using Bytes = std::optional<std::uint64_t>;

/// Reads the number in a file's first word (nothing for "max"), or in the word after `key`.
Bytes number_in(const std::string& file, std::string_view key = {}) {
  std::ifstream stream(file);
  std::string word;
  bool is_next = key.empty();
  while (stream >> word) {
    if (is_next) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      const bool is_whole = error == std::errc() && end == word.data() + word.size();
      return is_whole ? Bytes(number) : std::nullopt;
    }
    is_next = word == key;
  }
  return std::nullopt;
}

/// File names and keys of one version of control groups.
struct Version {
  std::string_view
      line;  ///< text before the path in the memory controller's line of /proc/self/cgroup
  std::string_view mount;
  std::string_view limit;
  std::string_view used;
  std::string_view cached;  ///< the key in memory.stat
};
constexpr Version kVersions[] = {
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"},
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}};

/// Returns the path of this process' group below the mount: "/a/b".
std::optional<std::string> group_path(const std::string& root, const Version& version) {
  std::ifstream stream(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(stream, line)) {
    const std::size_t found = line.find(version.line);
    const bool is_start = version.line.front() == ':' || found == 0;
    if (found != std::string::npos && is_start) {
      return line.substr(found + version.line.size());
    }
  }
  return std::nullopt;
}

Bytes rest_of(const std::string& folder, const Version& version) {
  const Bytes limit = number_in(folder + std::string(version.limit));
  const Bytes used = number_in(folder + std::string(version.used));
  if (!limit || !used) {
    return std::nullopt;
  }
  // Page cache that is not in use counts as used, but the kernel reclaims it when memory is short.
  const std::uint64_t cached = number_in(folder + "memory.stat", version.cached).value_or(0);
  const std::uint64_t needed = *used - std::min(*used, cached);
  return *limit - std::min(*limit, needed);
}

}  // namespace

std::optional<std::uint64_t> available_memory(const std::string& root) {
  constexpr std::uint64_t kKibibyte = 1024;
  Bytes available = number_in(root + "/proc/meminfo", "MemAvailable:");
  if (available) {
    *available *= kKibibyte;
  }
  for (const Version& version : kVersions) {
    // In a container the mount is often the group itself, regardless of the path.
    std::string path = group_path(root, version).value_or("");
    while (true) {
      std::string folder = root;
      folder.append(version.mount).append(path).append("/");
      if (const Bytes rest = rest_of(folder, version)) {
        available = std::min(available.value_or(*rest), *rest);
      }
      if (path.empty()) {
        break;
      }
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return available;
}

}  // namespace understudy::et_schema
