#include "costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/common/command_line.h"
#include "et_schema/base/figures.h"
#include "predictor/calls/known_cards.h"
#include "predictor/simulate/assessment.h"
#include "predictor/what_if/what_if.h"

namespace understudy::cli {
namespace {

bool has_profiles(const predictor::Job& job) {
  return std::ranges::all_of(job.programs,
                             [](const auto* program) { return program->profile.has_value(); });
}

/// Returns true if profiles show all device work of the ranks' steps.
bool shows_device(const predictor::Job& job) {
  return std::ranges::all_of(job.programs, [](const et_schema::Program* program) {
    return program->profile && !program->device_work.empty();
  });
}

}  // namespace

ChosenCosts::ChosenCosts(const PredictArguments& arguments, predictor::Job& job) {
  if (!arguments.recorded) {
    take_platform(arguments, job);
    return;
  }
  recorded_.emplace(job);
  platform_text_ = {{"costs", "recorded"}};
  costs_ = &*recorded_;
}

void ChosenCosts::take_platform(const PredictArguments& arguments, predictor::Job& job) {
  ChosenPlatform chosen = choose_platform(arguments.platform, arguments.card);
  platform_ = std::move(chosen.platform);
  assumptions_ = std::move(chosen.assumptions);
  const predictor::PlatformDevice asked{chosen.device, std::max(arguments.threads, 1),
                                        predictor::find_fabric(arguments.network)};
  const predictor::DeviceKey device = predictor::find_device(platform_.operators, asked);
  const bool is_host = device.timed == predictor::TimedAs::kHost;
  if (!is_host) {
    place(device.device, job);
  }
  predictor::RecordedParts parts;
  if (const auto& profile = job.programs.front()->profile) {
    const predictor::Card* const card = predictor::find_known_card(profile->device);
    parts.card = card == nullptr ? std::nullopt : std::optional(*card);
  }
  if (has_profiles(job)) {
    parts.costs = &recorded_.emplace(job);
  }
  // Another card in the recorded host; a platform's file is of another machine.
  parts.is_step = arguments.platform.empty() && !arguments.batch && !is_given(arguments.world) &&
                  parts.card && shows_device(job);
  std::vector<std::string> of_faults;
  if (is_host) {
    of_faults = add_page_faults(job, parts);
  }
  modelled_.emplace(platform_, asked, std::move(parts));
  const bool has_issue_times = std::ranges::all_of(
      job.programs,
      [](const et_schema::Program* program) { return predictor::has_issue_times(*program); });
  const char* const issues =
      is_host                        ? ""
      : parts.is_step                ? "it issues operators as when they were recorded; "
      : modelled_->knows_host()      ? "it issues operators as those of the platform's profiles, "
                                       "not as yours; "
      : recorded_ && has_issue_times ? "it issues operators as when they were recorded; "
      : device.timed == predictor::TimedAs::kDevice
          ? "it issues an operator in 2 us, since the platform's times are the device's alone; "
          : "it issues an operator in the least time that a timed call of the device took; ";
  assumptions_.push_back(fmt::format("{}{}gaps between operators are {}", predictor::kHost, issues,
                                     recorded_ ? "the recorded ones" : "the platform's"));
  assumptions_.insert(assumptions_.end(), of_faults.begin(), of_faults.end());
  costs_ = &*modelled_;
  platform_text_ = {
      {"costs", "platform"},
      {"file", std::filesystem::path(chosen.file).filename().string()},
      {"device",
       device.timed == predictor::TimedAs::kDevice ? device.device : predictor::to_string(device)}};
}

const predictor::Card* ChosenCosts::card() const {
  return modelled_ && modelled_->device().timed != predictor::TimedAs::kHost
             ? platform_.operators.find_card(modelled_->device().device)
             : nullptr;
}

/// Adds the time of the recorded page faults, and returns what it assumes. The interval's upper
/// bound is a page that the hypervisor has reclaimed: it costs six times as much
/// (docs/results/fidelity-2-cores.md).
std::vector<std::string> ChosenCosts::add_page_faults(const predictor::Job& job,
                                                      predictor::RecordedParts& parts) const {
  constexpr double kLeast = 0.5;
  constexpr double kMost = 6;
  const auto& profile = job.programs.front()->profile;
  const std::int64_t faults = profile ? profile->minor_faults.value_or(0) : 0;
  if (!recorded_ || faults == 0) {
    return {};
  }
  const std::string count = et_schema::with_commas(static_cast<std::uint64_t>(faults));
  const std::optional<double> ns = predictor::page_fault_ns(platform_);
  if (!ns) {
    return {fmt::format(
        "the original's step met {} page faults, for which no time is counted: the platform was "
        "not measured by `calibrate`, or was fitted to its rows alone",
        count)};
  }
  parts.page_faults = [this, each = *ns](const et_schema::Program& program,
                                         const et_schema::Instruction& at) {
    const double all_ns = recorded_->page_faults_of(program, at) * each;
    return predictor::Estimate{all_ns, kLeast * all_ns, kMost * all_ns, "page faults"};
  };
  return {fmt::format("a step meets {} page faults, as the original's did, at {:.2f} us each",
                      count, *ns * 1e-3)};
}

void ChosenCosts::place(const std::string& device, predictor::Job& job) {
  if (std::ranges::any_of(job.programs, [](const et_schema::Program* program) {
        return uses_accelerator(*program);
      })) {
    return;
  }
  for (const et_schema::Program*& program : job.programs) {
    program = &placed_.emplace_back(predictor::placed_on_device(*program));
  }
  assumptions_.push_back(
      fmt::format("the benchmark is a CPU's: all of its tensors are placed on {}", device));
}

}  // namespace understudy::cli
