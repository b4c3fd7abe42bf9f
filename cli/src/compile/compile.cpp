#include "compile/compile.h"

#include <fmt/format.h>

#include <utility>

#include "et_schema/trace_files.h"

namespace understudy::cli {

Compiled compile_traces(const std::vector<std::string>& paths,
                        const generator::GenerateOptions& options, const ProfileChoice& profiles,
                        Progress& progress) {
  progress.show("reading");
  et_schema::TraceSet set = et_schema::read_trace_set(paths);
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

}  // namespace understudy::cli
