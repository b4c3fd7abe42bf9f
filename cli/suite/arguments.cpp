#include "arguments.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "et_schema/base/shipped.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastSeconds = 1;
constexpr double kMostSeconds = 1e6;
constexpr int kMostRounds = 100;

constexpr const char* kExamples =
    R"(  understudy suite                                  the package's gallery, on this machine's CPU
  understudy suite --device cuda                    on its GPU
  understudy suite --device cuda --save H200        and keep the result as a reference
  understudy suite --replay-flags '--counters default --threads 1'
                                                    with counters, on one thread)";

/// A platform's name is the start of its files' names, up to a dot.
bool is_platform(const std::string& name) {
  return !name.empty() && name != "bench" && std::ranges::all_of(name, [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
  });
}

}  // namespace

SuiteArguments read_suite_arguments(int argc, char** argv) {
  SuiteArguments arguments;
  CommandLine line({.name = "understudy suite",
                    .description =
                        "Replays the steps of a gallery one after the other, and compares this "
                        "machine with each platform that ran them: speed by step and by class of "
                        "operators, with 95 % intervals, and over all steps.",
                    .examples = kExamples,
                    .success = "all steps were replayed",
                    .failure = "a step was not"});
  line.add("FOLDER", arguments.folder,
           "Folders of steps, a bench.et and references in each (default: the package's gallery)");
  line.begin(FlagGroup::kRuns);
  line.add("--device DEVICE", arguments.device,
           "Where to run: cpu, cuda or cuda:N. Steps recorded on a GPU run on a GPU, others on a "
           "CPU");
  line.add_text(
      "--replay-flags TEXT",
      [&](const std::string& text) {
        std::istringstream words(text);
        arguments.replay_flags.assign(std::istream_iterator<std::string>(words), {});
        return true;
      },
      "", "More flags for replay");
  line.begin(FlagGroup::kMeasurement);
  line.add_number("--seconds S", arguments.seconds, kLeastSeconds, kMostSeconds,
                  "Seconds for all replays together, at most");
  line.add_number(
      "--rounds N", arguments.rounds, 1, kMostRounds,
      "Replays of each step, as far as the time allows: more of them, narrower intervals");
  line.begin(FlagGroup::kOutput);
  line.add_text(
      "--save NAME",
      [&](const std::string& name) {
        arguments.save = name;
        return is_platform(name);
      },
      "not a name of letters, digits, - and _",
      "Write this machine's reports beside the steps, as references of the platform NAME");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "the result is printed");
  line.parse(argc, argv);
  if (arguments.folder.empty()) {
    arguments.folder = et_schema::shipped_folder("gallery");
  }
  return arguments;
}

}  // namespace understudy::cli
