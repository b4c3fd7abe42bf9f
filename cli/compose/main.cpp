#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/output.h"
#include "common/output_path.h"
#include "common/progress.h"
#include "common/run_main.h"
#include "compile/compile.h"
#include "compose/document.h"
#include "composer/mix/compose.h"
#include "composer/mix/fit.h"
#include "composer/plan/plan.h"
#include "et_schema/support/error.h"
#include "et_schema/support/read_file.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  compose plan.yaml -o mix.et                pieces of benchmarks and traces, as the plan "
    "says\n"
    "  compose plan.yaml --list                   what its pieces read and make, to write wires\n"
    "  compose --fit ads.et:0.3 --fit llm.et:0.7 --minutes 2 -o mix.et\n"
    "                                             the smallest mix whose time by operator class "
    "is\n"
    "                                             that of these shares\n"
    "  compose --operators '^aten::mm$' --shapes-of bench.et -o micro.et\n"
    "                                             one family of operators, with a job's shapes\n";

struct Arguments {
  std::string plan;
  std::string output;
  std::vector<std::string> fit;
  double minutes = 2;
  double tolerance = 0.005;
  std::string operators;
  std::string shapes_of;
  bool lists = false;
  Format format = Format::kText;
  bool quiet = false;
};

[[noreturn]] void refuse(const std::string& summary, const std::string& hint) {
  throw et_schema::usage_error(summary, {.hint = hint});
}

void check(const Arguments& arguments) {
  const int ways = (arguments.plan.empty() ? 0 : 1) + (arguments.fit.empty() ? 0 : 1) +
                   (arguments.operators.empty() ? 0 : 1);
  if (ways != 1) {
    refuse("a plan, --fit or --operators is required, and one of them alone", "compose --help");
  }
  if (arguments.operators.empty() != arguments.shapes_of.empty()) {
    refuse("--operators and --shapes-of belong together", "compose --help");
  }
  if (arguments.lists && arguments.plan.empty()) {
    refuse("--list is of a plan", "compose --list PLAN");
  }
  if (!arguments.lists && arguments.output.empty()) {
    refuse("--output is required", "compose --help");
  }
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CommandLine line({.name = "compose",
                    .description = "Makes one benchmark from pieces of others: a mix that "
                                   "represents many jobs, or the piece that is slow.",
                    .examples = kExamples,
                    .failure = "the benchmark could not be written"});
  line.add("PLAN FILE", arguments.plan, "A plan (docs/compose.md)");
  line.add("-o,--output", arguments.output, "The benchmark to write");
  line.add("--fit PATH:SHARE", arguments.fit,
           "A benchmark or traces and its share of the time (shares add up to 1), once for each "
           "part. The mix has the time by operator class that these shares give; the parts' own "
           "shares may differ")
      .repeats();
  line.add_number("--minutes M", arguments.minutes, 0.001, 1e6,
                  "With --fit: minutes that a replay of 25 iterations may take");
  line.add_number("--tolerance X", arguments.tolerance, 0.0, 1.0,
                  "With --fit: share of time that may lie in other operator classes than asked");
  line.add("--operators", arguments.operators,
           "Only operators of --shapes-of whose name matches this regular expression");
  line.add("--shapes-of PATH", arguments.shapes_of,
           "The benchmark or traces to take operators from");
  line.add_flag("--list", arguments.lists,
                "List what the plan's pieces read and make; write nothing");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  check(arguments);
  return arguments;
}

/// "ads.et:0.3".
composer::FitPart fit_part(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  composer::FitPart part;
  const char* const end = text.data() + text.size();
  const auto [read, error] = colon == std::string::npos
                                 ? std::from_chars_result{end, std::errc::invalid_argument}
                                 : std::from_chars(text.data() + colon + 1, end, part.share);
  if (error != std::errc() || read != end || !(part.share > 0 && part.share <= 1) || colon == 0) {
    throw et_schema::usage_error(
        "a part of the mix cannot be read",
        {.field = "--fit", .expected = "PATH:SHARE with a share above 0, up to 1", .got = text});
  }
  part.path = text.substr(0, colon);
  return part;
}

std::vector<composer::FitPart> fit_parts(const std::vector<std::string>& texts) {
  std::vector<composer::FitPart> parts;
  double sum = 0;
  for (const std::string& text : texts) {
    parts.push_back(fit_part(text));
    sum += parts.back().share;
  }
  constexpr double kRounding = 1e-6;
  if (sum < 1 - kRounding || sum > 1 + kRounding) {
    throw et_schema::usage_error(
        "the parts' shares do not add up to 1",
        {.field = "--fit", .expected = "shares that add up to 1", .got = fmt::format("{:g}", sum)});
  }
  return parts;
}

class Composing {
 public:
  Composing(const Arguments& arguments, Progress& progress)
      : arguments_(arguments), progress_(progress) {}

  int run() {
    if (arguments_.lists) {
      const composer::Plan plan = read_plan();
      const pages::Page page = pieces_page(composer::list_pieces(plan, loader(folder())));
      progress_.clear();
      print_output(pages::written(page, arguments_.format));
      return kStatusOk;
    }
    if (!arguments_.plan.empty()) {
      plan_ = read_plan();
    }
    refuse_output(arguments_.output, inputs(), "--output");
    const et_schema::Bench bench = compose_bench();
    progress_.show("writing");
    et_schema::write_bench(bench, arguments_.output);
    progress_.clear();
    if (!arguments_.quiet || arguments_.format != Format::kText) {
      const std::uint64_t bytes = std::filesystem::file_size(arguments_.output);
      print_output(
          pages::written(composed_page(bench, arguments_.output, bytes, fit_), arguments_.format));
    }
    return kStatusOk;
  }

 private:
  /// All that is read: the plan, and what it and the options name.
  [[nodiscard]] std::vector<std::string> inputs() const {
    std::vector<std::string> paths;
    if (plan_) {
      for (const composer::PlanSource& source : plan_->sources) {
        paths.push_back((std::filesystem::path(folder()) / source.path).string());
      }
    }
    for (const std::string& part : arguments_.fit) {
      paths.push_back(fit_part(part).path);
    }
    for (const std::string& path : {arguments_.plan, arguments_.shapes_of}) {
      if (!path.empty()) {
        paths.push_back(path);
      }
    }
    return paths;
  }

  [[nodiscard]] composer::Plan read_plan() const {
    return composer::parse_plan(et_schema::read_file(arguments_.plan, et_schema::process_limits()),
                                arguments_.plan);
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
      return composer::compose(*plan_, loader(folder()));
    }
    if (!arguments_.fit.empty()) {
      fit_ = composer::fit(fit_parts(arguments_.fit), arguments_.minutes, arguments_.tolerance,
                           loader(""));
      return composer::compose(fit_->plan, loader(""));
    }
    const et_schema::Bench whole = loader("")({"", arguments_.shapes_of, std::nullopt, "", 0}, "");
    return composer::compose(
        composer::micro_plan(arguments_.operators, arguments_.shapes_of, whole.world_size()),
        loader(""));
  }

  const Arguments& arguments_;
  Progress& progress_;
  std::optional<composer::Plan> plan_;
  std::optional<composer::Fit> fit_;
};

int compose(const Arguments& arguments) {
  Progress progress(arguments.quiet);
  progress.tick();
  return Composing(arguments, progress).run();
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("compose", argc, argv, [&] {
    return understudy::cli::compose(understudy::cli::read_arguments(argc, argv));
  });
}
