#include "generator/composer/mix/compose.h"

#include <filesystem>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/compile/compile.h"
#include "document.h"
#include "et_schema/base/read_file.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  understudy compose plan.yaml -o mix.et                pieces of benchmarks, as the plan "
    "says";

struct Arguments {
  std::string plan;
  std::string output;
  Format format = Format::kText;
  bool quiet = false;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CommandLine line({.name = "understudy compose",
                    .description = "Makes one benchmark from pieces of others: a mix that "
                                   "represents many jobs, or the piece that is slow.",
                    .examples = kExamples,
                    .success = "the mix was written"});
  line.add("PLAN", arguments.plan, "A plan (docs/compose.md)").required();
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output, "The benchmark to write").required();
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  return arguments;
}

class Composing {
 public:
  Composing(const Arguments& arguments, Progress& progress)
      : arguments_(arguments),
        progress_(progress),
        plan_(composer::parse_plan(
            et_schema::read_file(arguments.plan, et_schema::process_limits()), arguments.plan)) {}

  int run() {
    refuse_output(arguments_.output, inputs(), "--output");
    const et_schema::Bench bench = composer::compose(plan_, loader(), &sources_);
    progress_.show("writing");
    et_schema::write_bench(bench, arguments_.output);
    progress_.clear();
    if (!arguments_.quiet || arguments_.format != Format::kText) {
      const std::uint64_t bytes = std::filesystem::file_size(arguments_.output);
      print_output(pages::written(composed_page(bench, arguments_.output, bytes, sources_),
                                  arguments_.format));
    }
    return kStatusOk;
  }

 private:
  /// Returns all input files: the plan, and the files that it names.
  [[nodiscard]] std::vector<std::string> inputs() const {
    std::vector<std::string> paths = {arguments_.plan};
    for (const composer::PlanSource& source : plan_.sources) {
      paths.push_back((std::filesystem::path(folder()) / source.path).string());
    }
    return paths;
  }

  [[nodiscard]] std::string folder() const {
    return std::filesystem::path(arguments_.plan).parent_path().string();
  }

  composer::Load loader() {
    return [this](const composer::PlanSource& source, const std::string& annotation) {
      const std::string path = (std::filesystem::path(folder()) / source.path).string();
      generator::GenerateOptions options;
      options.allowed_operators = all_operators();
      if (!source.step.empty()) {
        options.step = source.step;
      }
      if (!annotation.empty()) {
        options.subgraphs.push_back(annotation);
      }
      const bool is_bench =
          std::filesystem::is_regular_file(path) && et_schema::is_bench_file(path);
      if (is_bench && (!annotation.empty() || !source.step.empty())) {
        composer::refuse_plan(arguments_.plan, source.line,
                              "a benchmark knows no annotations and no other steps",
                              "traces, for pieces by annotation and for a step", path,
                              "name the traces that it was made of");
      }
      return load_benchmark({path}, options, {}, progress_).bench;
    };
  }

  const Arguments& arguments_;
  Progress& progress_;
  composer::Plan plan_;
  et_schema::Account sources_;
};

int compose(const Arguments& arguments) {
  Progress progress(arguments.quiet);
  progress.tick();
  return Composing(arguments, progress).run();
}

const Verb kVerb("compose", "Makes one benchmark from pieces of benchmarks and traces",
                 [](int argc, char** argv) { return compose(read_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
