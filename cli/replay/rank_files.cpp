#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "et_schema/base/output_file.h"
#include "job.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::json;

/// Ids per rank in the file of all ranks: the host's process, then Kineto's processes of GPUs.
constexpr int kProcessesOfRank = 100;

/// Adds a rank's events; ranks are added in order. Kineto also numbers GPUs as processes; numbering
/// them per rank keeps them apart. The profiler's own marks, whose processes are texts, are
/// dropped.
void add_rank(const Json& profile, int rank, Json& all) {
  std::map<Json, int> processes;
  for (Json event : profile.at("traceEvents")) {
    if (event.contains("pid") && !event.at("pid").is_number()) {
      continue;
    }
    if (event.contains("pid")) {
      const auto [place, is_new] = processes.try_emplace(
          event.at("pid"), kProcessesOfRank * rank + static_cast<int>(processes.size()));
      event["pid"] = place->second;
    }
    const std::string name = event.value("ph", "") == "M" ? event.value("name", "") : "";
    if (name == "process_name") {
      event["args"]["name"] =
          fmt::format("rank {}: {}", rank, event["args"].value("name", std::string()));
    } else if (name == "process_sort_index") {
      event["args"]["sort_index"] = event["pid"];
    }
    all.push_back(std::move(event));
  }
}

std::string checksums_path(const std::string& path, int rank, int ranks) {
  return ranks == 1 ? path : fmt::format("{}.{}", path, rank);
}

std::string trace_path(const std::string& path, int rank, int ranks) {
  if (ranks == 1) {
    return path;
  }
  std::filesystem::path own(path);
  own.replace_extension(fmt::format("{}{}", rank, own.extension().string()));
  return own.string();
}

}  // namespace

std::vector<NamedOutput> outputs_of(const ReplayArguments& arguments, int ranks) {
  std::vector<NamedOutput> outputs = {{arguments.report_path, "--report"},
                                      {arguments.operator_times_path, "--operator-times"}};
  if (ranks > 1) {
    outputs.push_back({arguments.trace_path, "--trace"});
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (!arguments.trace_path.empty()) {
      outputs.push_back({trace_path(arguments.trace_path, rank, ranks), "--trace"});
    }
    if (!arguments.checksums_path.empty()) {
      outputs.push_back({checksums_path(arguments.checksums_path, rank, ranks), "--checksums"});
    }
  }
  std::erase_if(outputs, [](const NamedOutput& output) { return output.path.empty(); });
  return outputs;
}

std::string profile_path(const std::string& path, int rank, int ranks) {
  namespace fs = std::filesystem;
  const fs::path own = fs::absolute(trace_path(path, rank, ranks));
  const bool is_file = fs::is_regular_file(own) || !fs::exists(own);
  const fs::path folder = is_file && fs::is_directory(own.parent_path())
                              ? own.parent_path()
                              : fs::temp_directory_path();
  return folder / fmt::format(".{}.part-{}", own.filename().string(), getpid());
}

void write_checksums(const std::string& path, const std::vector<std::string>& texts) {
  const auto ranks = static_cast<int>(texts.size());
  for (int rank = 0; rank < ranks; ++rank) {
    et_schema::write_file_atomically(checksums_path(path, rank, ranks),
                                     texts[static_cast<std::size_t>(rank)]);
  }
}

void write_operator_times(const std::string& path, et_schema::OperatorTimes times,
                          const std::vector<std::string>& texts) {
  times.rows.clear();
  for (const std::string& text : texts) {
    et_schema::OperatorTimes of_rank =
        et_schema::parse_operator_times(text, "a rank's operator times");
    std::ranges::move(of_rank.rows, std::back_inserter(times.rows));
  }
  et_schema::write_file_atomically(path, et_schema::to_json_lines(times));
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
