#include "fleet/comparer/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "et_schema/base/error.h"

namespace understudy::comparer {
namespace {

using Fields = std::map<std::string, std::string>;

constexpr const char* kNone = "–";

/// Fields that must be equal so that the rest of a run can show the machine's state.
constexpr std::array<std::string_view, 12> kOther = {
    "source",    "benchmark_hash", "world_size", "filters", "device",        "cpu_model",
    "cpu_count", "threads",        "pace",       "backend", "settings.rank", kNotReplayed};
constexpr std::array<std::string_view, 9> kIncidents = {"benchmark",
                                                        "hosts",
                                                        "settings.iterations",
                                                        "settings.seconds",
                                                        "settings.warmup",
                                                        "settings.sandbox",
                                                        "settings.continue_on_error",
                                                        "settings.counters",
                                                        "settings.until_percent"};

Weight weight_of(const std::string& field) {
  if (std::ranges::find(kOther, field) != kOther.end()) {
    return Weight::kOther;
  }
  return std::ranges::find(kIncidents, field) != kIncidents.end() ? Weight::kIncident
                                                                  : Weight::kVersion;
}

Fields fields_of(const Run& run) {
  Fields fields;
  fields["source"] = run.is_profile      ? "the profile of a program"
                     : run.is_prediction ? "a prediction"
                                         : "a replay";
  fields["world_size"] = std::to_string(run.world_size);
  std::vector<std::string> not_replayed;
  for (const auto& [name, fate] : run.not_replayed) {
    not_replayed.push_back(fmt::format("{} ({})", name, fate));
  }
  fields[kNotReplayed] = fmt::format("{}", fmt::join(not_replayed, ", "));
  if (run.is_profile) {
    if (!run.environment.device.empty()) {
      fields["device"] = run.environment.device;
    }
    return fields;
  }
  const et_schema::Environment& environment = run.environment;
  fields["pace"] = run.pace;
  fields["filters"] = fmt::format("{}", fmt::join(run.filters, ", "));
  fields["tool_version"] = environment.tool_version;
  fields["benchmark"] = environment.benchmark;
  fields["benchmark_hash"] = environment.benchmark_hash;
  fields["device"] = environment.device;
  fields["cpu_model"] = environment.cpu_model;
  fields["cpu_count"] = std::to_string(environment.cpu_count);
  fields["threads"] = std::to_string(environment.threads);
  fields["backend"] = environment.backend;
  fields["hosts"] = fmt::format("{}", fmt::join(environment.hosts, " "));
  for (const auto& [name, version] : environment.versions) {
    fields["versions." + name] = version;
  }
  for (const auto& [name, setting] : environment.settings) {
    fields["settings." + name] = setting;
  }
  fields.erase("settings.pace");  // the fields have the pace already
  return fields;
}

std::string value_of(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() || found->second.empty() ? kNone : found->second;
}

/// Returns the values of a field in the runs of one side.
std::set<std::string> values_of(const std::vector<Fields>& runs, const std::string& name) {
  std::set<std::string> values;
  for (const Fields& fields : runs) {
    values.insert(value_of(fields, name));
  }
  return values;
}

std::vector<Fields> fields_of(const std::vector<Run>& runs) {
  std::vector<Fields> fields;
  std::ranges::transform(runs, std::back_inserter(fields),
                         [](const Run& run) { return fields_of(run); });
  return fields;
}

/// Returns the calls of each operator, which identify the benchmark of a report without a hash.
std::map<std::string, std::uint64_t> calls_of(const Run& run) {
  std::map<std::string, std::uint64_t> calls;
  for (const Series& row : run.rows) {
    if (row.kind == RowKind::kOperator) {
      calls[row.name] = row.count;
    }
  }
  return calls;
}

[[noreturn]] void refuse(const Run& run, const Run& first, std::string field,
                         const std::string& expected, std::string got) {
  throw et_schema::usage_error("the runs are not of one benchmark",
                               {.file = run.file,
                                .field = std::move(field),
                                .expected = fmt::format("{}, as in {}", expected, first.file),
                                .got = std::move(got),
                                .hint = "--different-benchmarks compares them all the same"});
}

std::string filters_text(const Run& run) {
  return run.filters.empty() ? "no filter" : fmt::format("{}", fmt::join(run.filters, ", "));
}

void refuse_if_different(const Run& run, const Run& first) {
  const et_schema::Environment& mine = run.environment;
  const et_schema::Environment& theirs = first.environment;
  if (run.world_size != first.world_size) {
    refuse(run, first, "world_size", std::to_string(first.world_size),
           std::to_string(run.world_size));
  }
  if (run.filters != first.filters) {
    refuse(run, first, "filters", filters_text(first), filters_text(run));
  }
  const bool are_hashed = !mine.benchmark_hash.empty() && !theirs.benchmark_hash.empty();
  if (are_hashed && mine.benchmark_hash != theirs.benchmark_hash) {
    refuse(run, first, "environment.benchmark_hash",
           fmt::format("{} ({})", theirs.benchmark_hash, theirs.benchmark),
           fmt::format("{} ({})", mine.benchmark_hash, mine.benchmark));
  }
  if (!are_hashed && calls_of(run) != calls_of(first)) {
    refuse(run, first, "operators",
           fmt::format("the same operators, called as often ({})", theirs.benchmark),
           fmt::format("others ({})", mine.benchmark));
  }
}

/// Returns true if every run of `a` and `b` records the field. A profile records only its
/// source, its number of ranks and its device, whose name differs from the one in reports. A
/// prediction also records its benchmark and the tool that made it; its other fields are compared
/// only among predictions.
bool is_told_of_all(const std::string& name, const std::vector<Run>& a, const std::vector<Run>& b) {
  bool has_profile = false;
  bool has_prediction = false;
  bool has_replay = false;
  for (const std::vector<Run>* runs : {&a, &b}) {
    for (const Run& run : *runs) {
      (run.is_profile ? has_profile : run.is_prediction ? has_prediction : has_replay) = true;
    }
  }
  if (name == kNotReplayed) {
    return true;
  }
  if (has_profile) {
    const bool are_alike = !has_prediction && !has_replay;
    return name == "source" || name == "world_size" || (are_alike && name == "device");
  }
  constexpr std::array<std::string_view, 5> kOfBenchmarks = {"source", "world_size", "benchmark",
                                                             "benchmark_hash", "tool_version"};
  return !has_prediction || !has_replay ||
         std::ranges::find(kOfBenchmarks, name) != kOfBenchmarks.end();
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const std::vector<Run>& a,
                                                           const std::vector<Run>& b) {
  const std::vector<Fields> runs_a = fields_of(a);
  const std::vector<Fields> runs_b = fields_of(b);
  std::set<std::string> names;
  for (const std::vector<Fields>* runs : {&runs_a, &runs_b}) {
    for (const Fields& fields : *runs) {
      std::ranges::transform(fields, std::inserter(names, names.end()),
                             [](const auto& field) { return field.first; });
    }
  }
  std::vector<EnvironmentDifference> differences;
  for (const std::string& name : names) {
    if (!is_told_of_all(name, a, b)) {
      continue;
    }
    const std::set<std::string> in_a = values_of(runs_a, name);
    const std::set<std::string> in_b = values_of(runs_b, name);
    if (in_a != in_b || in_a.size() > 1) {
      differences.push_back({name, fmt::format("{}", fmt::join(in_a, ", ")),
                             fmt::format("{}", fmt::join(in_b, ", ")), weight_of(name)});
    }
  }
  std::ranges::stable_sort(differences, {}, &EnvironmentDifference::weight);
  return differences;
}

void refuse_different_benchmarks(const std::vector<Run>& a, const std::vector<Run>& b) {
  const Run* first = nullptr;
  for (const std::vector<Run>* runs : {&a, &b}) {
    for (const Run& run : *runs) {
      if (run.is_profile) {
        continue;
      }
      if (first == nullptr) {
        first = &run;
      } else {
        refuse_if_different(run, *first);
      }
    }
  }
}

}  // namespace understudy::comparer
