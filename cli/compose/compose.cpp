#include "generator/composer/mix/compose.h"

#include <filesystem>
#include <optional>
#include <string>
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
#include "generator/composer/plan/plan.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy compose plan.yaml -o mix.et                pieces of benchmarks, as the plan says
  understudy compose --operators '^aten::mm$' --shapes-of bench.et -o micro.et
                                                        one family of operators, with a job's shapes)";

struct Arguments {
  std::string plan;
  std::string output;
  std::string operators;
  std::string shapes_of;
  Format format = Format::kText;
  bool quiet = false;
};

void check(const Arguments& arguments) {
  constexpr const char* kHint = "understudy compose --help";
  refuse_if(arguments.plan.empty() == arguments.operators.empty(),
            "a plan or --operators is required, and one of them alone", "", "", "", kHint);
  refuse_if(arguments.operators.empty() != arguments.shapes_of.empty(),
            "--operators and --shapes-of belong together", "", "", "", kHint);
  refuse_if(arguments.output.empty(), "--output is required", "", "", "", kHint);
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CommandLine line({.name = "understudy compose",
                    .description = "Makes one benchmark from pieces of others: a mix that "
                                   "represents many jobs, or the piece that is slow.",
                    .examples = kExamples,
                    .failure = "the benchmark could not be written"});
  line.add("PLAN FILE", arguments.plan, "A plan (docs/compose.md)");
  line.add("--operators REGEX", arguments.operators,
           "Only operators of --shapes-of whose name matches this regular expression");
  line.add("--shapes-of PATH", arguments.shapes_of,
           "The benchmark or traces to take operators from");
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output, "The benchmark to write");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  check(arguments);
  return arguments;
}

class Composing {
 public:
  Composing(const Arguments& arguments, Progress& progress)
      : arguments_(arguments), progress_(progress) {}

  int run() {
    if (!arguments_.plan.empty()) {
      plan_ = composer::parse_plan(
          et_schema::read_file(arguments_.plan, et_schema::process_limits()), arguments_.plan);
    }
    refuse_output(arguments_.output, inputs(), "--output");
    const et_schema::Bench bench = compose_bench();
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
  /// Returns all input files: the plan, and the files that it and the options name.
  [[nodiscard]] std::vector<std::string> inputs() const {
    std::vector<std::string> paths;
    if (plan_) {
      for (const composer::PlanSource& source : plan_->sources) {
        paths.push_back((std::filesystem::path(folder()) / source.path).string());
      }
    }
    for (const std::string& path : {arguments_.plan, arguments_.shapes_of}) {
      if (!path.empty()) {
        paths.push_back(path);
      }
    }
    return paths;
  }

  [[nodiscard]] std::string folder() const {
    return std::filesystem::path(arguments_.plan).parent_path().string();
  }

  composer::Load loader(const std::string& folder) {
    return [this, folder](const composer::PlanSource& source, const std::string& annotation) {
      const std::string path = (std::filesystem::path(folder) / source.path).string();
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

  et_schema::Bench compose_bench() {
    if (plan_) {
      return composer::compose(*plan_, loader(folder()), &sources_);
    }
    const et_schema::Bench whole = loader("")({"", arguments_.shapes_of, std::nullopt, "", 0}, "");
    return composer::compose(
        composer::micro_plan(arguments_.operators, arguments_.shapes_of, whole.world_size()),
        loader(""), &sources_);
  }

  const Arguments& arguments_;
  Progress& progress_;
  std::optional<composer::Plan> plan_;
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
