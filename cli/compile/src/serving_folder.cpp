#include "serving_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

using ByRank = std::map<int, std::string>;

/// Returns the profiles in a folder whose names have a rank (rank0, rank_0, TP-0), by their names
/// up to it. Of several the last in order counts, which is the newest: names have the time.
std::map<std::string, ByRank> profiles_in(const std::string& folder) {
  static const std::regex kName(R"((.*?)(?:rank_?|TP-)(\d{1,6})(?:\D.*)?\.json(?:\.gz)?)");
  std::map<std::string, ByRank> profiles;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::smatch parts;
    const std::string name = entry->path().filename().string();
    // SGLang may profile prefills by themselves, which run without graphs.
    if (std::regex_match(name, parts, kName) && name.find("-EXTEND") == std::string::npos) {
      std::string& file = profiles[parts[1].str()][std::stoi(parts[2].str())];
      file = std::max(file, entry->path().string());
    }
  }
  return profiles;
}

}  // namespace

std::optional<ServingProfiles> find_serving_profiles(const std::string& folder,
                                                     std::optional<std::string>& step) {
  std::map<std::string, ByRank> captures = profiles_in(folder + "/capture_traces");
  captures.merge(profiles_in(folder + "/graph_capture_profile"));
  if (captures.empty()) {
    return std::nullopt;
  }
  const auto of_size = captures.find(fmt::format("bs_{}_", step.value_or("")));
  if (of_size == captures.end() && captures.size() > 1) {
    std::vector<std::string> names;
    std::ranges::transform(captures, std::back_inserter(names),
                           [](const auto& row) { return row.second.begin()->second; });
    throw et_schema::usage_error(
        "the engine captured several graphs",
        {.file = folder,
         .field = "--step",
         .expected = "one of their batch sizes: 16 of bs_16_rank0.json.gz",
         .got = fmt::format("{}", fmt::join(names, ", ")),
         .hint = "choose the run's batch size, or give two files: CAPTURE --graph-profile RUN"});
  }
  if (of_size != captures.end()) {
    step.reset();
  }
  ServingProfiles profiles;
  const std::map<std::string, ByRank> runs = profiles_in(folder);
  for (const auto& [rank, file] :
       of_size == captures.end() ? captures.begin()->second : of_size->second) {
    std::string newest;
    for (const auto& [name, ranks] : runs) {
      newest = ranks.contains(rank) ? std::max(newest, ranks.at(rank)) : newest;
    }
    if (newest.empty()) {
      throw et_schema::usage_error(
          "no profile of a run beside the engine's captures",
          {.file = folder,
           .rank = rank,
           .expected = fmt::format("a profile named …TP-{0}… or …rank{0}…", rank),
           .hint = "profile the engine while it serves, into the same folder"});
    }
    profiles.captures.push_back(file);
    profiles.runs.push_back(newest);
  }
  return profiles;
}

}  // namespace understudy::cli
