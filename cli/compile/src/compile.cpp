#include "cli/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "et_schema/facts/operator_map.h"
#include "et_schema/formats/kineto/profile_files.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/model/memory_plan.h"
#include "serving_folder.h"

namespace understudy::cli {
namespace {

/// Adds what a step that did not run would hold at its peak and no operator shows: variables of
/// Python, memory inside of operators.
void add_held(const std::vector<et_schema::RankCapture>& captures, et_schema::Bench& bench) {
  std::map<const et_schema::Program*, std::uint64_t> peaks;
  for (std::size_t i = 0; i < std::min(captures.size(), bench.programs.size()); ++i) {
    peaks[&bench.programs[i]] = captures[i].facts.peak_bytes.value_or(0);
  }
  bench.programs.edit_each([&peaks](et_schema::Program& program, std::size_t /*ranks*/) {
    const auto device =
        std::ranges::find(program.storages, et_schema::DeviceType::kCuda,
                          [](const et_schema::Storage& storage) { return storage.device.type; });
    const std::uint64_t held = peaks[&program];
    const std::uint64_t shown = et_schema::plan_step_memory(program).peak_bytes;
    if (held > shown && program.selection.filters.empty()) {
      const et_schema::Device host{et_schema::DeviceType::kCpu};
      program.storages.push_back(
          {.device = device == program.storages.end() ? host : device->device,
           .bytes = static_cast<std::int64_t>(held - shown),
           .external = true,
           .untouched = true});
    }
  });
}

}  // namespace

void refuse_operators(const et_schema::Bench& bench, const std::string& path,
                      const et_schema::AllowedOperators& allowed) {
  std::set<const et_schema::Program*> seen;
  for (std::size_t i = 0; i < bench.programs.size(); ++i) {
    if (seen.insert(&bench.programs[i]).second) {
      et_schema::refuse_operators(bench.programs[i], bench.recorded_rank(i), path, allowed);
    }
  }
}

void add_allow_option(CommandLine& line, et_schema::AllowedOperators& allowed) {
  line.add_list(
          "--allow-operator NAME",
          [&allowed](const std::vector<std::string>& names) {
            allowed.insert(names.begin(), names.end());
            return std::string();
          },
          "Take this operator though it does more than compute, as aten::from_file; can be "
          "repeated; '*' takes all")
      .repeats();
}

Option add_profile_option(CommandLine& line, ProfileChoice& profiles, const std::string& given) {
  return line.add_list(
      "--profile FILE",
      [&profiles](const std::vector<std::string>& files) {
        profiles.none = files == std::vector<std::string>{"none"};
        profiles.files = profiles.none ? std::vector<std::string>() : files;
        return std::string();
      },
      given +
          ", one a rank; none leaves times out (default: those of the capture that the traces "
          "lie in)");
}

void use_operator_maps(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    et_schema::use_operator_map(file);
  }
}

Compiled compile_traces(const std::vector<std::string>& asked,
                        const generator::GenerateOptions& given, const ProfileChoice& choice,
                        Progress& progress) {
  progress.show("reading");
  generator::GenerateOptions options = given;
  ProfileChoice profiles = choice;
  std::vector<std::string> paths = asked;
  if (asked.size() == 1 && choice.graph_runs.empty()) {
    if (auto serving = find_serving_profiles(asked.front(), options.step)) {
      paths = std::move(serving->captures);
      profiles.graph_runs = std::move(serving->runs);
    }
  }
  const bool has_gaps = options.partial >= generator::PartialRanks::kOfOneJob;
  JobTraces job = read_job(paths, options.step.value_or(""),
                           has_gaps ? et_schema::RankGaps::kAllowed : et_schema::RankGaps::kRefused,
                           profiles.graph_runs);
  et_schema::TraceSet& set = job.set;
  options.step = job.step ? job.step : options.step;
  if (set.traces.size() == 1) {
    set.traces[0].rank = generator::rank_alone(set.traces[0]);
  }
  std::vector<generator::Link> links = link_profiles(paths, job, profiles, options.step, progress);
  add_counters(profiles.counters, set.traces, options.step, links);
  progress.show(
      fmt::format("compiling {} {}", set.traces.size(), set.traces.size() == 1 ? "rank" : "ranks"));
  Compiled compiled;
  compiled.bench = generator::generate(set.traces, options, links);
  const bool has_times = !links.empty() && links.front().has_times;
  if (!has_times && !profiles.none && job.made_of.empty()) {
    if (const auto captures = et_schema::find_captures(paths, set)) {
      add_held(*captures, compiled.bench);
    }
  }
  compiled.bench.op_maps = et_schema::named_op_maps(compiled.bench.programs);
  refuse_operators(compiled.bench, paths.front(), options.allowed_operators);
  if (links.empty() || !job.made_of.empty()) {
    compiled.unlinked_profiles = std::move(set.kineto);
  }
  return compiled;
}

bool is_one_benchmark(const std::vector<std::string>& paths) {
  std::error_code error;
  return paths.size() == 1 && std::filesystem::is_regular_file(paths.front(), error) &&
         et_schema::is_bench_file(paths.front());
}

Compiled load_benchmark(const std::vector<std::string>& paths,
                        const generator::GenerateOptions& options, const ProfileChoice& profiles,
                        Progress& progress) {
  if (is_one_benchmark(paths)) {
    progress.show("reading");
    et_schema::Bench bench = et_schema::read_bench(paths.front());
    et_schema::use_operator_maps(bench, paths.front());
    refuse_operators(bench, paths.front(), options.allowed_operators);
    return {std::move(bench), {}};
  }
  return compile_traces(paths, options, profiles, progress);
}

}  // namespace understudy::cli
