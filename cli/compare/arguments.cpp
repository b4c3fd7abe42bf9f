#include "arguments.h"

#include <fmt/format.h>

#include <utility>

#include "cli/common/own_names.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy compare base.json new.json                   what got slower or faster from A to B
  understudy compare --a base-*.json --b new-*.json       several runs of each: finds smaller changes
  understudy compare train.kineto.json.gz replay.json     a replay against the original's profile
  understudy compare h100.json.gz mi300x.json.gz          two profiles: their devices' time
  understudy compare on_h100 on_b200                      captures that did not run: what they launch
  understudy compare replay.json prediction.json          a prediction against a measurement)";

/// Accepts either two positional arguments, or lists by name.
void set_sides(CompareArguments& arguments, const std::vector<std::string>& positional) {
  const bool has_lists = !arguments.a.empty() || !arguments.b.empty();
  const std::string wrong = has_lists && !positional.empty()   ? "both forms at once"
                            : has_lists && arguments.a.empty() ? "no --a"
                            : has_lists && arguments.b.empty() ? "no --b"
                            : has_lists || positional.size() == 2
                                ? ""
                                : et_schema::counted(positional.size(), "input");
  refuse_if(!wrong.empty(), "compare takes two sides", "", "A B, or --a A… --b B…", wrong,
            "understudy compare --help shows examples");
  if (!has_lists) {
    arguments.a = {positional[0]};
    arguments.b = {positional[1]};
  }
}

}  // namespace

CompareArguments read_compare_arguments(int argc, char** argv) {
  CompareArguments arguments;
  std::vector<std::string> positional;
  CommandLine line(
      {.name = "understudy compare",
       .description =
           "Compares measured runs B with runs A: which classes, operators, collectives "
           "and gaps got slower or faster, and how certain that is. Of steps that did not "
           "run: what came, went or changed.",
       .examples = kExamples,
       .success = "nothing is slower",
       .failure =
           "something is (see --fail-on)\n  3   nothing could be told, with --fail-on unsure"});
  line.add("INPUT", positional,
           "A and B: reports of replay, predictions, Kineto profiles, or folders; or captures and "
           "benchmarks of steps that did not run");
  line.add("--a PATH", arguments.a, "Runs of A");
  line.add("--b PATH", arguments.b, "Runs of B");
  add_names_option(line, arguments.names);
  line.begin(FlagGroup::kTrust);
  line.add_choice("--fail-on WHAT",
                  {{"slower", FailOn::kSlower},
                   {"unsure", FailOn::kUnsure},
                   {"different", FailOn::kDifferent},
                   {"never", FailOn::kNever}},
                  arguments.fail_on,
                  "End with status 1 if a row is slower (slower; unsure: or 3 if nothing could be "
                  "told), if one "
                  "is slower or faster or, where no step ran, anything changed (different), or "
                  "never");
  line.add_flag("--different-benchmarks", arguments.different_benchmarks,
                "Also compare runs of different benchmarks, ranks or filters");
  line.begin(FlagGroup::kMeasurement);
  double margin_percent = arguments.options.margin * et_schema::kPercent;
  line.add_number("--margin PERCENT", margin_percent, 0.1, 50.0,
                  "SAME means: shown to differ by less than this, 0.1 to 50");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "the result is printed");
  line.parse(argc, argv);
  arguments.options.margin = margin_percent / et_schema::kPercent;
  set_sides(arguments, positional);
  return arguments;
}

}  // namespace understudy::cli
