#include "fleet/gallery/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/own_program.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "document.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/report/report_json.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"

namespace understudy::cli {
namespace {

using fleet::SuiteReplays;

/// Returns why a replay failed, in one line. Throws its error if that is about the device, since no
/// step can run then.
std::string failure_of(const fleet::ProgramEnd& end) {
  const std::size_t at = std::min(end.errors.find("{\"error\":"), end.errors.size());
  const auto said = nlohmann::json::parse(end.errors.substr(at), nullptr, false);
  if (said.is_discarded()) {
    return end.errors.substr(0, end.errors.find('\n'));
  }
  const auto& fields = said.at("error");
  const auto text = [&fields](const char* name) { return fields.value(name, std::string()); };
  refuse_if(text("field") == "--device", text("summary"), text("field"), text("expected"),
            text("got"), text("hint"));
  return fmt::format("{}: expected {}, got {}", text("summary"), text("expected"), text("got"));
}

/// Returns the steps for this kind of device.
std::vector<SuiteReplays> chosen_steps(const SuiteArguments& arguments) {
  std::vector<SuiteReplays> chosen;
  bool has_reference = false;
  for (fleet::GalleryStep& step : fleet::read_gallery(arguments.folder)) {
    if (step.on_device == arguments.on_device()) {
      has_reference = has_reference || !step.references.empty();
      chosen.push_back({std::move(step), {}, {}});
    }
  }
  refuse_if(chosen.empty(), "no step for this device", "--device",
            arguments.on_device() ? "cpu: all steps were recorded on CPUs"
                                  : "cuda: all steps were recorded on GPUs",
            arguments.device, "", arguments.folder);
  refuse_if(!has_reference && arguments.save.empty(), "nothing to compare with", "",
            "references beside a step's bench.et", "none",
            "understudy suite --save NAME writes this machine's", arguments.folder);
  return chosen;
}

/// Replays the steps in rounds, within the seconds that were asked for.
class Suite {
 public:
  Suite(const SuiteArguments& arguments, std::vector<SuiteReplays>& steps)
      : arguments_(arguments), steps_(steps), progress_(arguments.quiet) {}

  void run() {
    const fleet::NodeLock lock;
    begin_ = Clock::now();
    double round_s = 0;
    for (int round = 0; round < arguments_.rounds && round_s <= left_s(); ++round) {
      const double begin_s = left_s();
      for (SuiteReplays& step : steps_) {
        if (step.failure.empty()) {
          replay(step);
        }
        ++done_;
      }
      round_s = begin_s - left_s();
    }
    progress_.clear();
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double left_s() const {
    return arguments_.seconds - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  [[nodiscard]] std::vector<std::string> words(const SuiteReplays& step) const {
    // Timing passes and the start take as long again as the iterations, and more.
    constexpr double kMeasuredShare = 0.25;
    constexpr double kMostSecondsEach = 10;
    const double share_s =
        arguments_.seconds / static_cast<double>(steps_.size()) / arguments_.rounds;
    std::vector<std::string> all = {sibling("replay"), step.step.benchmark(), "--format", "json"};
    all.insert(all.end(), {"--device", arguments_.device, "--iterations", "200", "--seconds"});
    all.push_back(fmt::format("{:.3f}", std::min(share_s * kMeasuredShare, kMostSecondsEach)));
    all.insert(all.end(), arguments_.replay_flags.begin(), arguments_.replay_flags.end());
    return all;
  }

  void replay(SuiteReplays& step) {
    progress_.show({.phase = step.step.name,
                    .done = done_,
                    .total = steps_.size() * static_cast<std::size_t>(arguments_.rounds),
                    .left_s = left_s()});
    // A step that hangs in the first round leaves the others most of their time.
    constexpr double kMostShares = 3;
    const std::size_t others = steps_.size() - std::min(done_, steps_.size() - 1);
    const double timeout_s =
        std::max(1.0, left_s() * std::min(1.0, kMostShares / static_cast<double>(others)));
    const fleet::ProgramEnd end = fleet::run_program(
        {.words = words(step), .variables = {"UNDERSTUDY_PROGRESS=off"}, .timeout_s = timeout_s});
    if (end.timed_out) {
      step.failure = step.reports.empty() ? fmt::format("not done within {:.0f} s", timeout_s) : "";
    } else if (end.status != 0) {
      step.failure = failure_of(end);
    } else {
      step.reports.push_back(et_schema::parse_report(end.output, step.step.benchmark()));
    }
  }

  const SuiteArguments& arguments_;
  std::vector<SuiteReplays>& steps_;
  Progress progress_;
  Clock::time_point begin_;
  std::size_t done_ = 0;
};

int suite(const SuiteArguments& arguments) {
  std::vector<SuiteReplays> steps = chosen_steps(arguments);
  for (const SuiteReplays& step : steps) {
    if (!arguments.save.empty()) {
      refuse_output(fleet::reference_path(step.step, arguments.save, 1), {}, "--save");
    }
  }
  Suite(arguments, steps).run();
  print_output(pages::written(suite_page(arguments.folder, steps), arguments.format));
  bool all_ran = true;
  for (const SuiteReplays& step : steps) {
    all_ran = all_ran && step.failure.empty();
    if (!arguments.save.empty() && step.failure.empty()) {
      fleet::save_reference(step.step, arguments.save, step.reports);
    }
  }
  return all_ran ? kStatusOk : static_cast<int>(et_schema::ErrorKind::kFailed);
}

const Verb kVerb("suite", "Compares this machine with platforms that ran a gallery of steps",
                 [](int argc, char** argv) { return suite(read_suite_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
