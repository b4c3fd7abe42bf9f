#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>

#include "commands.h"
#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/yaml_documents.h"
#include "et_schema/formats/bench/bench.h"
#include "fleet/nightly/options.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kTraceEndings = {".json", ".gz",  ".et",
                                                           ".tar",  ".tgz", ".zip"};

constexpr const char* kWhatIsTaken =
    "traces (PyTorch's, Chakra's, an archive of them), a folder of jobs, or a manifest (.yaml)";

bool is_trace(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  return !name.starts_with('.') && std::ranges::any_of(kTraceEndings, ends);
}

/// Returns the entries of a folder, not of its subfolders, by name.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with('.')) {
      entries.push_back(entry.path());
    }
  }
  std::ranges::sort(entries);
  return entries;
}

bool holds_traces(const fs::path& folder) {
  return std::ranges::any_of(entries_of(folder), is_trace);
}

/// Returns the last part of a path without the extensions of trace files.
std::string name_of(const fs::path& path) {
  std::string name = path.lexically_normal().filename().string();
  if (name.empty()) {
    name = path.lexically_normal().parent_path().filename().string();
  }
  for (const std::string_view ending : {".gz", ".tar", ".tgz", ".zip", ".json"}) {
    if (name.ends_with(ending) && name.size() > ending.size()) {
      name.resize(name.size() - ending.size());
    }
  }
  return name;
}

[[noreturn]] void refuse(const std::string& file, std::string expected, std::string got,
                         std::string hint) {
  throw et_schema::bad_input("there are no jobs", {.file = file,
                                                   .expected = std::move(expected),
                                                   .got = std::move(got),
                                                   .hint = std::move(hint)});
}

fleet::Job job_at(const fs::path& path) {
  et_schema::check_file_name(path.string());
  if (et_schema::is_bench_file(path.string())) {
    refuse(path.string(), kWhatIsTaken, "a benchmark",
           "add what it was made of, of which each night makes it anew");
  }
  fleet::Job job;
  job.name = name_of(path);
  job.path = fs::absolute(path).lexically_normal().string();
  return job;
}

/// Reads one manifest; every error names its line.
class ManifestReader {
 public:
  explicit ManifestReader(std::string file) : file_(std::move(file)) {}

  std::vector<fleet::Job> read() {
    const std::string text = et_schema::read_file(file_, et_schema::process_limits());
    YAML::Node root;
    try {
      root = YAML::Load(text);
    } catch (const YAML::Exception& error) {
      fail(error.mark, "", "YAML", error.msg);
    }
    if (const int second = et_schema::second_document_line(text); second > 0) {
      YAML::Mark mark;
      mark.line = second - 1;
      fail(mark, "", "one document", "several");
    }
    check_keys(root, "", {"jobs"});
    const YAML::Node list = root["jobs"];
    if (!list || !list.IsSequence() || list.size() == 0) {
      fail(root.Mark(), "jobs", "a list of jobs", "none");
    }
    std::vector<fleet::Job> jobs;
    for (const YAML::Node& item : list) {
      jobs.push_back(read_job(item));
      if (!names_.insert(jobs.back().name).second) {
        fail(item.Mark(), "jobs.name", "each name once", jobs.back().name);
      }
    }
    return jobs;
  }

 private:
  fleet::Job read_job(const YAML::Node& item) {
    check_keys(item, "jobs", {"name", "path", "weight", "tags", "flags"});
    const std::string path = text(item, "path", "jobs.path");
    fleet::Job job = job_at(fs::path(file_).parent_path() / path);
    if (item["name"]) {
      job.name = text(item, "name", "jobs.name");
    }
    if (const YAML::Node weight = item["weight"]) {
      job.weight = number(weight);
    }
    if (const YAML::Node tags = item["tags"]) {
      if (!tags.IsMap()) {
        fail(tags.Mark(), "jobs.tags", "names and values", "something else");
      }
      for (const auto& tag : tags) {
        const std::string name = word(tag.first, "jobs.tags");
        if (!job.tags.emplace(name, word(tag.second, "jobs.tags." + name)).second) {
          fail(tag.first.Mark(), "jobs.tags", "each name once", name);
        }
      }
    }
    if (const YAML::Node flags = item["flags"]) {
      if (!flags.IsSequence()) {
        fail(flags.Mark(), "jobs.flags", "a list of flags of generate", "something else");
      }
      for (const YAML::Node& flag : flags) {
        job.flags.push_back(word(flag, "jobs.flags"));
      }
      if (const std::string refused = fleet::refused_generate_flag(job.flags); !refused.empty()) {
        fail(flags.Mark(), "jobs.flags", fleet::allowed_generate_flags(), refused);
      }
    }
    return job;
  }

  double number(const YAML::Node& node) {
    double value = 0;
    try {
      value = node.as<double>();
    } catch (const YAML::Exception&) {
      fail(node.Mark(), "jobs.weight", "a number of 0 or more", node.Scalar());
    }
    if (!(value >= 0) || !std::isfinite(value)) {
      fail(node.Mark(), "jobs.weight", "a number of 0 or more", node.Scalar());
    }
    return value;
  }

  std::string text(const YAML::Node& item, const char* key, const std::string& field) {
    const YAML::Node node = item[key];
    if (!node || !node.IsScalar() || node.Scalar().empty()) {
      fail(item.Mark(), field, "a text", node ? "something else" : "nothing");
    }
    return word(node, field);
  }

  /// Returns one word of a list or a map.
  std::string word(const YAML::Node& node, const std::string& field) {
    if (!node.IsScalar()) {
      fail(node.Mark(), field, "a text", node.IsNull() ? "nothing" : "something else");
    }
    if (et_schema::has_control_characters(node.Scalar())) {
      fail(node.Mark(), field, "a text without control characters",
           et_schema::escape_control_characters(node.Scalar()));
    }
    return node.Scalar();
  }

  void check_keys(const YAML::Node& node, const std::string& field,
                  const std::set<std::string>& known) {
    if (!node.IsMap()) {
      fail(node.Mark(), field, "keys and values", "something else");
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!seen.insert(key).second) {
        fail(entry.first.Mark(), field, "each key once", key);
      }
      if (!known.contains(key)) {
        std::string list;
        for (const std::string& name : known) {
          list += (list.empty() ? "" : ", ") + name;
        }
        fail(entry.first.Mark(), field, list, key);
      }
    }
  }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& field, std::string expected,
                         std::string got) {
    throw et_schema::bad_input(
        "the manifest cannot be read",
        {.file = mark.is_null() ? file_ : fmt::format("{}:{}", file_, mark.line + 1),
         .field = field,
         .expected = std::move(expected),
         .got = std::move(got),
         .hint = "docs/formats.md, \"fleet manifest\", has an example"});
  }

  std::string file_;
  std::set<std::string> names_;
};

}  // namespace

bool is_manifest(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

std::vector<fleet::Job> read_manifest(const std::string& file) {
  return ManifestReader(file).read();
}

std::vector<fleet::Job> jobs_at(const std::string& path, bool each) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    refuse(path, kWhatIsTaken, "no such file", "");
  }
  if (!fs::is_directory(path, error) &&
      (!fs::is_regular_file(path, error) || !et_schema::may_be_input(path))) {
    refuse(path, kWhatIsTaken, "a file of another kind", "");
  }
  if (!fs::is_directory(path, error) || (!each && holds_traces(path))) {
    return {job_at(path)};
  }
  std::vector<fleet::Job> jobs;
  for (const fs::path& entry : entries_of(path)) {
    const bool is_folder = fs::is_directory(entry, error);
    if (is_folder ? holds_traces(entry) : each && is_trace(entry)) {
      jobs.push_back(job_at(entry));
    }
  }
  if (jobs.empty()) {
    refuse(path, "folders with traces in them", "none", "--each takes every trace in it as a job");
  }
  return jobs;
}

}  // namespace understudy::cli
