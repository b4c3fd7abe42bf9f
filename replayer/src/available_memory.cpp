#include <algorithm>
#include <fstream>
#include <string>

#include "replayer/memory.h"

namespace understudy::replayer {
namespace {

std::optional<std::uint64_t> first_number(const std::string& file, const std::string& key) {
  std::ifstream stream(file);
  std::string word;
  while (stream >> word) {
    if (key.empty() || word == key) {
      std::uint64_t number = 0;
      if (key.empty()) {
        return word == "max" ? std::nullopt : std::optional(std::stoull(word));
      }
      return stream >> number ? std::optional(number) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  constexpr std::uint64_t kKibibyte = 1024;
  std::optional<std::uint64_t> available = first_number("/proc/meminfo", "MemAvailable:");
  if (available) {
    *available *= kKibibyte;
  }
  const auto limit = first_number("/sys/fs/cgroup/memory.max", "");
  const auto used = first_number("/sys/fs/cgroup/memory.current", "");
  if (limit && used) {
    // File pages that nobody needs count as used, but are given back when memory gets short.
    const std::uint64_t cached =
        first_number("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0);
    const std::uint64_t needed = *used - std::min(*used, cached);
    const std::uint64_t rest = *limit - std::min(*limit, needed);
    available = available ? std::min(*available, rest) : rest;
  }
  return available;
}

}  // namespace understudy::replayer
