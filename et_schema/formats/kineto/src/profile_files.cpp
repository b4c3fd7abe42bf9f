#include "et_schema/formats/kineto/profile_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/formats/capture/capture_origin.h"

namespace understudy::et_schema {
namespace {

constexpr std::string_view kAlone = ".kineto_only.json";
constexpr std::string_view kCounters = ".counters.json";
constexpr std::string_view kFaults = ".faults.json";
constexpr std::string_view kWithTrace = ".kineto.json";

/// Reads one file of an input: by its path, or by unpacking the archive again.
std::string read_named(const std::vector<std::string>& paths, const std::string& name,
                       const ReadLimits& limits) {
  std::string data;
  const auto keep = [&](InputFile&& file) {
    if (file.name == name) {
      data = std::move(file.data);
    }
  };
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    read_input_files(name, limits, keep);
    return data;
  }
  for (const std::string& path : paths) {
    if (name.starts_with(path)) {
      read_input_files(path, limits, keep);
    }
  }
  return data;
}

/// Returns this rank's file among the input's Kineto files whose name contains `mark`.
std::string find_profile(const CapturedRank& rank, const std::string& folder, std::string_view mark,
                         const TraceSet& set) {
  for (const std::string& file : rank.files) {
    const bool is_there = std::ranges::find(set.kineto, folder + file) != set.kineto.end();
    if (file.find(mark) != std::string::npos && is_there) {
      return folder + file;
    }
  }
  return {};
}

std::optional<RankCapture> find_capture(const Trace& trace, const Capture& capture,
                                        const TraceSet& set) {
  const std::string folder = folder_of(trace.file);
  const std::string file = trace.file.substr(folder.size());
  for (const CapturedRank& rank : capture.ranks) {
    if (std::ranges::find(rank.files, file) != rank.files.end()) {
      RankCapture found{rank, find_profile(rank, folder, kAlone, set),
                        find_profile(rank, folder, kWithTrace, set),
                        find_profile(rank, folder, kCounters, set),
                        find_profile(rank, folder, kFaults, set)};
      if (!found.alone.empty() || !found.with_trace.empty() || rank.peak_bytes) {
        return found;
      }
    }
  }
  return std::nullopt;
}

[[noreturn]] void fail_count(const std::string& file, std::size_t got, int world_size) {
  throw usage_error("the profiles are not one for each rank",
                    {.file = file,
                     .field = "--profile",
                     .expected = fmt::format("{} profile{}, one for each trace", world_size,
                                             world_size == 1 ? "" : "s"),
                     .got = std::to_string(got),
                     .hint = "give the profiles of all ranks, or --profile none"});
}

/// Returns the names of an input's files.
std::vector<std::string> list_names(const std::vector<std::string>& paths,
                                    const ReadLimits& limits) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    read_input_files(path, limits, [&](InputFile&& file) { names.push_back(file.name); });
  }
  return names;
}

/// Infers the rank of each profile.
class ProfileRanks {
 public:
  ProfileRanks(const std::vector<std::string>& paths, int world_size, const ReadLimits& limits) {
    if (world_size > 1) {
      const std::vector<std::string> names = list_names(paths, limits);
      if (names.size() != static_cast<std::size_t>(world_size)) {
        fail_count(paths.front(), names.size(), world_size);
      }
      by_name_ = names;
    }
    files_.resize(static_cast<std::size_t>(world_size));
  }

  int take(const Profile& profile) {
    const int rank = find(profile);
    const int world_size = static_cast<int>(files_.size());
    if (rank >= world_size || !files_[static_cast<std::size_t>(rank)].empty()) {
      const bool is_taken = rank < world_size;
      throw bad_input(
          is_taken ? "two profiles of one rank" : "a profile of a rank without a trace",
          {.file = profile.file,
           .rank = rank,
           .field = "--profile",
           .expected = fmt::format("one profile for each of ranks 0 to {}", world_size - 1),
           .got = is_taken ? fmt::format("this file and {}", files_[static_cast<std::size_t>(rank)])
                           : fmt::format("rank {}", rank),
           .hint = "give the profiles of the same job as the traces"});
    }
    files_[static_cast<std::size_t>(rank)] = profile.file;
    return rank;
  }

 private:
  int find(const Profile& profile) {
    if (files_.size() == 1) {
      return 0;
    }
    if (profile.distributed && profile.distributed->world_size > 1 &&
        profile.distributed->rank >= 0) {
      return static_cast<int>(std::min<std::int64_t>(profile.distributed->rank, kMostRanks));
    }
    if (ranks_.empty()) {
      ranks_ = ranks_from_names(by_name_);
    }
    const auto place = std::ranges::find(by_name_, profile.file);
    return ranks_[static_cast<std::size_t>(place - by_name_.begin())];
  }

  static constexpr std::int64_t kMostRanks = 1 << 30;
  std::vector<std::string> by_name_;
  std::vector<int> ranks_;          ///< by position in by_name_
  std::vector<std::string> files_;  ///< by rank
};

}  // namespace

std::optional<std::vector<RankCapture>> find_captures(const std::vector<std::string>& paths,
                                                      const TraceSet& set,
                                                      const ReadLimits& limits) {
  std::map<std::string, Capture> captures;  // by folder
  std::vector<RankCapture> ranks;
  for (const Trace& trace : set.traces) {
    const std::string folder = folder_of(trace.file);
    const std::string name = folder + std::string(kCaptureName);
    if (std::ranges::find(set.others, name) == set.others.end()) {
      return std::nullopt;
    }
    const auto [capture, is_new] = captures.try_emplace(folder);
    if (is_new) {
      const std::string json = read_named(paths, name, limits);
      const std::size_t first = json.find_first_not_of(" \t\r\n");
      const bool is_object = first != std::string::npos && json[first] == '{';
      if (is_object && !is_capture(json)) {
        return std::nullopt;  // another program's capture.json
      }
      capture->second = parse_capture(json, name);
    }
    std::optional<RankCapture> rank = find_capture(trace, capture->second, set);
    if (!rank) {
      return std::nullopt;
    }
    ranks.push_back(std::move(*rank));
  }
  return ranks;
}

Profile read_profile(const std::vector<std::string>& paths, const std::string& name,
                     const ReadLimits& limits) {
  return parse_kineto(read_named(paths, name, limits), name);
}

void read_profiles(const std::vector<std::string>& paths, int world_size,
                   const std::function<void(int rank, Profile&& profile)>& consume,
                   const ReadLimits& limits) {
  ProfileRanks ranks(paths, world_size, limits);
  std::size_t count = 0;
  for (const std::string& path : paths) {
    read_input_files(path, limits, [&](InputFile&& file) {
      if (++count > static_cast<std::size_t>(world_size)) {
        fail_count(file.name, count, world_size);
      }
      Profile profile = parse_kineto(file.data, file.name);
      file.data = {};
      const int rank = ranks.take(profile);
      consume(rank, std::move(profile));
    });
  }
  if (count != static_cast<std::size_t>(world_size)) {
    fail_count(paths.empty() ? std::string() : paths.front(), count, world_size);
  }
}

}  // namespace understudy::et_schema
