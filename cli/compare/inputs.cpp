#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "arguments.h"
#include "cli/common/own_names.h"
#include "cli/profile/profiled_device.h"
#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/capture/capture_origin.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/original_step.h"
#include "et_schema/model/report.h"

namespace understudy::cli {
namespace {

using comparer::Run;

/// An input as read. Profiles become runs after all reports are known.
struct Input {
  std::optional<Run> run;
  std::optional<et_schema::Profile> profile;
  et_schema::DeviceTimeline device = {};  ///< device timeline of the profile
  std::optional<NotRun> not_run = {};     ///< in place of all else
};

constexpr const char* kExpected =
    "a report of `replay --report`, a prediction of `understudy predict --report` or a Kineto "
    "profile";

[[noreturn]] void refuse(const std::string& file, std::string got, std::string hint) {
  throw et_schema::bad_input(
      "nothing to compare",
      {.file = file, .expected = kExpected, .got = std::move(got), .hint = std::move(hint)});
}

/// `capture`: that the file is of, if its step did not run and a folder's capture.json says so.
Input read_input(const et_schema::InputFile& file, const std::string& names,
                 const std::optional<et_schema::Capture>& capture) {
  // Reports and predictions name their format at the start; classify_json() recognizes profiles.
  constexpr std::size_t kHeadBytes = 4096;
  const std::string_view head = std::string_view(file.data).substr(0, kHeadBytes);
  Input input;
  if (et_schema::starts_as_report(head)) {
    input.run = comparer::run_of(
        et_schema::parse_report(with_own_names(file.data, names), file.name), file.name);
  } else if (head.find("\"understudy-prediction\"") != std::string_view::npos) {
    input.run = comparer::run_of(et_schema::parse_prediction(file.data, file.name), file.name);
  } else if (head.find("\"understudy-anchored-prediction\"") != std::string_view::npos) {
    refuse(file.name, "a prediction of a profile's device time for another card",
           "it holds what was recorded beside what is predicted; `understudy compare PROFILE "
           "PROFILE` holds "
           "two cards' profiles against each other, and understudy inspect --device-time shows "
           "one's classes");
  } else if (et_schema::classify_json(file.data) == et_schema::JsonKind::kKineto) {
    input.profile =
        et_schema::parse_kineto(file.data, file.name, et_schema::KinetoDetail::kArguments);
    if (input.profile->not_run) {
      const auto alone = capture ? std::nullopt : et_schema::captured_rank(file.name);
      const auto* const rank = capture ? capture->rank_of(file.name) : alone ? &*alone : nullptr;
      input.not_run = {file.name, input.profile->device(0).name,
                       rank == nullptr ? std::nullopt : rank->peak_bytes,
                       launches_of(*input.profile)};
      input.profile.reset();
      return input;
    }
    input.device = et_schema::device_timeline(*input.profile);
  } else {
    const bool is_trace = file.data.find("\"nodes\"") != std::string::npos;
    refuse(file.name, is_trace ? "an execution trace" : "another file",
           "make one with `replay --report out.json`");
  }
  return input;
}

std::vector<Input> read_side(const std::vector<std::string>& paths, const std::string& names) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    const std::size_t before = inputs.size();
    if (et_schema::is_bench_file(path)) {
      for (NotRun& step : not_run_programs(path)) {
        inputs.emplace_back().not_run = std::move(step);
      }
      if (inputs.size() == before) {
        refuse(path, "a benchmark",
               "replay it first, or predict it: replay " + path + " --report out.json");
      }
      continue;
    }
    std::optional<et_schema::Capture> not_run;  // its profiles alone are compared
    et_schema::read_input_files(
        path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
          if (et_schema::is_capture(file.data)) {
            et_schema::Capture capture = et_schema::parse_capture(file.data, file.name);
            if (!capture.ranks.empty() && capture.ranks.front().peak_bytes) {
              not_run = std::move(capture);
              return;
            }
          }
          if (!not_run || et_schema::classify_json(file.data) == et_schema::JsonKind::kKineto) {
            inputs.push_back(read_input(file, names, not_run));
          }
        });
    if (inputs.size() == before) {
      refuse(path, "no such file in it", "give the files, or a folder that holds some");
    }
  }
  return inputs;
}

bool has_operators(const et_schema::Profile& profile) {
  return std::ranges::any_of(profile.events, [](const et_schema::KinetoEvent& event) {
    return event.category == et_schema::KinetoCategory::kCpuOp;
  });
}

/// Takes a capture's profile without a device to the unprofiled steps that capture.json lists.
void take_to_unprofiled(Run& run) {
  constexpr double kMsPerNs = 1e-6;
  const double profiled_ms =
      et_schema::median(run.rows.front().samples_ms).value_or(0);  // of the iteration
  const std::optional<et_schema::CapturedRank> rank = et_schema::captured_rank(run.file);
  const double unprofiled_ms =
      rank ? static_cast<double>(rank->median_step_ns().value_or(0)) * kMsPerNs : 0;
  if (unprofiled_ms <= 0 || profiled_ms <= 0) {
    return;
  }
  for (comparer::Series& row : run.rows) {
    for (double& sample_ms : row.samples_ms) {
      sample_ms *= unprofiled_ms / profiled_ms;
    }
  }
  run.disturbance = et_schema::disturbance_text(profiled_ms, unprofiled_ms);
}

/// Returns the runs of a side. `beside_profile`: a profile is compared, so operators lose their
/// overload names. `beside_device`: device work is also compared.
std::vector<Run> runs_of(std::vector<Input> inputs, bool beside_profile, bool beside_device,
                         const std::set<std::string>& known) {
  std::vector<Run> runs;
  for (Input& input : inputs) {
    if (input.profile && beside_device && !has_operators(*input.profile)) {
      Run& run = runs.emplace_back();  // no operators: only its device work is compared
      run.file = input.profile->file;
      run.is_profile = true;
      run.pace = "original";
    } else if (input.profile) {
      runs.push_back(comparer::run_of(*input.profile, input.device, known, beside_device));
      if (input.device.events.empty()) {
        take_to_unprofiled(runs.back());
      }
    } else {
      runs.push_back(beside_profile ? comparer::without_overloads(*input.run)
                                    : std::move(*input.run));
    }
  }
  return runs;
}

/// Moves the steps that did not run out of a side's inputs.
std::vector<NotRun> take_not_run(std::vector<Input>& inputs) {
  std::vector<NotRun> steps;
  for (Input& input : inputs) {
    if (input.not_run) {
      steps.push_back(std::move(*input.not_run));
    }
  }
  std::erase_if(inputs, [](const Input& input) { return input.not_run.has_value(); });
  return steps;
}

bool is_profile(const std::vector<Input>& inputs) {
  return inputs.size() == 1 && inputs.front().profile;
}

bool has_device_events(const std::vector<Input>& inputs) {
  return is_profile(inputs) && !inputs.front().device.events.empty();
}

/// Returns the device's work in a step: the mean of a profile's usable steps.
comparer::DeviceStep device_step(const Input& input) {
  constexpr double kNsPerMs = 1e6;
  const ProfiledDevice device = profiled_device(*input.profile, input.device);
  const auto steps = static_cast<double>(device.steps);
  const double ms = 1 / (kNsPerMs * steps);
  const std::string& card = device.device.name;
  comparer::DeviceStep step{device.file, card, device.step_ns / kNsPerMs, device.busy_ns / kNsPerMs,
                            device.idle, {}};
  for (const ProfiledCall& call : device.calls) {
    for (const ProfiledKernel& kernel : call.kernels) {
      step.work.push_back({call.key(), kernel.kernel_class, kernel.name,
                           static_cast<double>(kernel.count) / steps, kernel.ns * ms});
    }
  }
  return step;
}

}  // namespace

ComparedRuns read_runs(const CompareArguments& arguments) {
  std::vector<Input> inputs_a = read_side(arguments.a, arguments.names);
  std::vector<Input> inputs_b = read_side(arguments.b, arguments.names);
  ComparedRuns steps;
  steps.not_run_a = take_not_run(inputs_a);
  steps.not_run_b = take_not_run(inputs_b);
  for (const std::vector<NotRun>* side : {&steps.not_run_a, &steps.not_run_b}) {
    if (!side->empty() && inputs_a.empty() && inputs_b.empty()) {
      return steps;
    }
    if (!side->empty()) {
      refuse(
          side->front().file, "a step that did not run, which has no times",
          "compare it with another one that did not run; or predict its times: understudy generate "
          "FOLDER -o bench.et && understudy predict bench.et --card CARD --report out.json");
    }
  }
  bool has_profile = false;
  std::set<std::string> known;
  for (const std::vector<Input>* side : {&inputs_a, &inputs_b}) {
    for (const Input& input : *side) {
      has_profile = has_profile || input.profile;
      if (input.run) {
        known.merge(comparer::operator_names(comparer::without_overloads(*input.run)));
      }
    }
  }
  const bool a_has_device = has_device_events(inputs_a);
  const bool b_has_device = has_device_events(inputs_b);
  std::string without_device;
  if (is_profile(inputs_a) && is_profile(inputs_b) && a_has_device != b_has_device) {
    without_device = (a_has_device ? arguments.b : arguments.a).front();
  }
  std::optional<comparer::DeviceComparison> devices;
  if (a_has_device && b_has_device) {
    devices =
        comparer::compare_devices(device_step(inputs_a.front()), device_step(inputs_b.front()));
  }
  ComparedRuns runs = {runs_of(std::move(inputs_a), has_profile, devices.has_value(), known),
                       runs_of(std::move(inputs_b), has_profile, devices.has_value(), known),
                       std::move(devices), std::move(without_device)};
  if (runs.devices) {
    runs.a.front().environment.device = runs.devices->a.device;
    runs.b.front().environment.device = runs.devices->b.device;
  }
  return runs;
}

}  // namespace understudy::cli
