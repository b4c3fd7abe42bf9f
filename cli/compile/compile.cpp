#include "compile/compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "et_schema/pytorch_et/trace_files.h"

namespace understudy::cli {
namespace {

/// One trace alone is rank 0, unless the capture that it is of knows better.
void name_rank_alone(std::vector<et_schema::Trace>& traces) {
  if (traces.size() == 1 && traces[0].capture && traces[0].capture->is_same_file) {
    traces[0].rank = traces[0].capture->rank.value_or(0);
  }
}

}  // namespace

Compiled compile_traces(const std::vector<std::string>& paths,
                        const generator::GenerateOptions& options, const ProfileChoice& profiles,
                        Progress& progress) {
  progress.show("reading");
  const bool has_gaps = options.partial == generator::PartialRanks::kAllowed;
  et_schema::TraceSet set = et_schema::read_trace_set(
      paths, et_schema::process_limits(),
      has_gaps ? et_schema::RankGaps::kAllowed : et_schema::RankGaps::kRefused);
  name_rank_alone(set.traces);
  const std::vector<generator::Link> links =
      link_profiles(paths, set, profiles, options.step, progress);
  progress.show(
      fmt::format("compiling {} {}", set.traces.size(), set.traces.size() == 1 ? "rank" : "ranks"));
  Compiled compiled;
  compiled.bench = generator::generate(set.traces, options, links);
  if (links.empty()) {
    compiled.unlinked_profiles = std::move(set.kineto);
  }
  return compiled;
}

Compiled load_benchmark(const std::vector<std::string>& paths,
                        const generator::GenerateOptions& options, const ProfileChoice& profiles,
                        Progress& progress) {
  if (paths.size() == 1 && std::filesystem::is_regular_file(paths.front()) &&
      et_schema::is_bench_file(paths.front())) {
    progress.show("reading");
    return {et_schema::read_bench(paths.front()), {}};
  }
  return compile_traces(paths, options, profiles, progress);
}

}  // namespace understudy::cli
