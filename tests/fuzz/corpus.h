#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace understudy::fuzz {

/// The inputs of a fuzz target that are kept in the repository, in the order of their
/// names; some have none.
[[nodiscard]] inline std::vector<std::string> read_corpus(const std::string& target) {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path folder = std::filesystem::path(UNDERSTUDY_CORPUS) / target;
  if (!std::filesystem::exists(folder)) {
    return {};
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

}  // namespace understudy::fuzz
