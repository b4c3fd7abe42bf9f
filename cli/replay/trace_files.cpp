#include "replay/trace_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "et_schema/support/output_file.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::json;

/// Processes of the file of all ranks: its host's, then those that Kineto has for its GPUs.
constexpr int kProcessesOfRank = 100;

/// Adds a rank's events. Kineto numbers GPUs as processes, too; by their order they stay apart.
void add_rank(const Json& profile, int rank, Json& all) {
  std::map<Json, int> processes;
  for (Json event : profile.at("traceEvents")) {
    if (event.contains("pid")) {
      const auto [place, is_new] = processes.try_emplace(
          event.at("pid"), kProcessesOfRank * rank + static_cast<int>(processes.size()));
      event["pid"] = place->second;
    }
    if (event.value("ph", "") == "M" && event.value("name", "") == "process_name") {
      event["args"]["name"] =
          fmt::format("rank {}: {}", rank, event["args"].value("name", std::string()));
    }
    all.push_back(std::move(event));
  }
}

}  // namespace

std::string trace_path(const std::string& path, int rank, int ranks) {
  if (ranks == 1) {
    return path;
  }
  std::filesystem::path own(path);
  own.replace_extension(fmt::format("{}{}", rank, own.extension().string()));
  return own.string();
}

void write_traces(const std::string& path, const std::vector<std::string>& profiles) {
  const auto ranks = static_cast<int>(profiles.size());
  Json all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& text = profiles[static_cast<std::size_t>(rank)];
    et_schema::write_file_atomically(trace_path(path, rank, ranks), text);
    if (ranks > 1) {
      const Json profile = Json::parse(text);
      if (rank == 0) {
        all = profile;
        all["traceEvents"] = Json::array();
        all.erase("distributedInfo");
      }
      add_rank(profile, rank, all["traceEvents"]);
    }
  }
  if (ranks > 1) {
    et_schema::write_file_atomically(path, all.dump());
  }
}

}  // namespace understudy::cli
