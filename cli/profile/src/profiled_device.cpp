#include "cli/profile/profiled_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/stretches.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/model/op_class.h"
#include "predictor/calls/known_cards.h"
#include "predictor/work/work.h"

namespace understudy::cli {
namespace {

using et_schema::DeviceTimeline;
using et_schema::DType;
using et_schema::EventIndex;
using et_schema::KinetoArgument;
using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;
using Lists = std::vector<std::vector<std::int64_t>>;

/// Parses "[16, 16]"; returns nothing for other texts.
std::optional<std::vector<std::int64_t>> integers_of(std::string_view text) {
  const auto list = nlohmann::json::parse(text, nullptr, false);
  const bool are_integers = list.is_array() && std::ranges::all_of(list, [](const auto& item) {
                              return item.is_number_integer();
                            });
  return are_integers ? std::optional(list.get<std::vector<std::int64_t>>()) : std::nullopt;
}

void add_tensor(const et_schema::KinetoLayout& layout, DType dtype, predictor::OperatorCall& call) {
  predictor::TensorLayout& tensor = call.inputs.emplace_back();
  tensor.dtype = dtype;
  tensor.sizes.assign(layout.sizes.begin(), layout.sizes.end());
  if (layout.strides.size() == layout.sizes.size()) {
    tensor.strides.assign(layout.strides.begin(), layout.strides.end());
  }
}

/// Returns the element type for members of a list, which only have sizes: that of the first tensor
/// with a type.
DType list_type(const KinetoEvent& event) {
  for (const KinetoArgument& argument : event.arguments) {
    if (const auto dtype = et_schema::dtype_from_cpp_name(argument.type)) {
      return *dtype;
    }
  }
  return DType::kFloat32;
}

predictor::OperatorCall call_of(const KinetoEvent& event) {
  predictor::OperatorCall call;
  call.name = event.name;
  Lists lists;
  const bool is_attention = et_schema::op_class(event.name) == "attention";
  bool has_dropout = false;
  for (const KinetoArgument& argument : event.arguments) {
    const auto dtype = et_schema::dtype_from_cpp_name(argument.type);
    if (dtype && argument.layouts.size() == 1) {
      add_tensor(argument.layouts.front(), *dtype, call);
    } else if (argument.type == "TensorList") {
      for (const et_schema::KinetoLayout& layout : argument.layouts) {
        add_tensor(layout, list_type(event), call);
      }
    } else if (auto numbers = integers_of(argument.value)) {
      lists.push_back(*std::move(numbers));
    } else if (argument.value.find('.') != std::string::npos) {
      has_dropout = true;
    } else if (has_dropout && argument.value == "False") {
      call.is_full = is_attention;  // `is_causal` follows the dropout, as in operator_call()
    }
  }
  predictor::add_assumed_results(call, lists);
  return call;
}

bool crosses_hosts(const KinetoEvent& event, std::string_view kernel_class) {
  const bool is_between = event.name.find("HtoD") != std::string_view::npos ||
                          event.name.find("DtoH") != std::string_view::npos ||
                          event.name.find("HostToDevice") != std::string_view::npos ||
                          event.name.find("DeviceToHost") != std::string_view::npos;
  return kernel_class == "communication" ||
         (event.category == KinetoCategory::kGpuMemcpy && is_between);
}

double product_of(const std::optional<std::vector<std::int64_t>>& numbers) {
  return numbers ? std::accumulate(numbers->begin(), numbers->end(), 1.0, std::multiplies<>()) : 0;
}

/// Returns the thread blocks from "grid" and "block" in that order, "[40,2,1][128,1,1]"; 0: not
/// recorded. ROCm launches matrix products by hipExtModuleLaunchKernel, whose grid counts threads.
double blocks_of(const KinetoEvent& event) {
  const std::size_t end = event.shape.find(']');
  if (end == std::string_view::npos) {
    return 0;
  }
  const double grid = product_of(integers_of(event.shape.substr(0, end + 1)));
  const double block = product_of(integers_of(event.shape.substr(end + 1)));
  return event.name.starts_with("Cijk_") && block > 0 ? grid / block : grid;
}

void add_kernel(const KinetoEvent& event, std::string_view kernel_class, double ns,
                ProfiledCall& call) {
  const bool crosses = crosses_hosts(event, kernel_class);
  auto kernel = std::ranges::find_if(call.kernels, [&](const ProfiledKernel& other) {
    return other.name == event.name && other.kernel_class == kernel_class;
  });
  if (kernel == call.kernels.end()) {
    kernel = call.kernels.insert(
        call.kernels.end(),
        {std::string(event.name), std::string(kernel_class), 0, 0, blocks_of(event), crosses});
  }
  ++kernel->count;
  kernel->ns += ns;
}

/// Groups the work that the steps launched by equal calls.
std::vector<ProfiledCall> calls_alike(const Profile& profile, const DeviceTimeline& timeline,
                                      const std::vector<EventIndex>& steps) {
  std::vector<ProfiledCall> calls;
  std::map<std::string, std::size_t> places;
  for (generator::DeviceCall& found : generator::device_calls(profile, timeline)) {
    std::erase_if(found.events, [&](EventIndex event) {
      return !std::ranges::binary_search(steps, timeline.events[event].step);
    });
    if (found.events.empty()) {
      continue;
    }
    ProfiledCall call;
    call.by = found.by;
    if (found.call != nullptr) {
      call.call = call_of(*found.call);
    }
    // Work without an operator is equal if it is the same single kernel.
    const std::string_view kernel =
        found.call == nullptr ? profile.events[timeline.events[found.events.front()].source].name
                              : std::string_view();
    const auto [place, is_new] =
        places.try_emplace(fmt::format("{} {}", call.key(), kernel), calls.size());
    if (is_new) {
      calls.push_back(std::move(call));
    }
    ProfiledCall& alike = calls[place->second];
    alike.is_cut_off |= found.is_cut_off;
    double& sum_ns = alike.times_ns.emplace_back();
    for (const EventIndex event : found.events) {
      const et_schema::DeviceEvent& work = timeline.events[event];
      const auto ns = static_cast<double>(work.ns());
      add_kernel(profile.events[work.source], work.kernel_class, ns, alike);
      sum_ns += ns;
    }
  }
  std::ranges::stable_sort(calls, std::ranges::greater{}, &ProfiledCall::total_ns);
  return calls;
}

predictor::MeasuredCall row_of(const ProfiledCall& call, const std::string& card,
                               const std::string& source) {
  predictor::MeasuredCall row;
  row.call = call.call;
  row.device = card;
  row.on_device = et_schema::time_stats(call.times_ns);
  row.source = source;
  return row;
}

/// Returns why a call cannot become a row of its operator; null if it can.
const char* why_no_row(const ProfiledCall& call) {
  if (call.by != et_schema::LaunchedBy::kOperator) {
    return "profiles: calls whose kernels no operator launched";
  }
  if (call.call.inputs.empty()) {
    return "profiles: calls of operators without sizes (record_shapes)";
  }
  if (call.is_cut_off) {
    return "profiles: calls of which the profile lost device events";
  }
  if (std::ranges::any_of(call.kernels, &ProfiledKernel::crosses_hosts)) {
    return "profiles: calls that communicate, or copy from or to a host";
  }
  return call.total_ns() > 0 ? nullptr : "profiles: calls that took no time";
}

}  // namespace

double ProfiledCall::total_ns() const {
  return std::accumulate(times_ns.begin(), times_ns.end(), 0.0);
}

std::string ProfiledCall::key() const {
  std::string text = call.name.empty() ? "(" + std::string(to_string(by)) + ")" : call.name;
  for (const predictor::TensorLayout& input : call.inputs) {
    text += " " + to_string(predictor::TensorLayout{input.dtype, input.sizes});
  }
  return text;
}

bool ProfiledDevice::has_layouts() const {
  return std::ranges::any_of(calls,
                             [](const ProfiledCall& call) { return !call.call.inputs.empty(); });
}

ProfiledDevice profiled_device(const Profile& profile, const DeviceTimeline& timeline) {
  if (timeline.events.empty()) {
    throw et_schema::bad_input(
        "a profile without device events",
        {.file = profile.file,
         .field = "traceEvents",
         .expected = "kernels, copies or fills of a GPU",
         .got = fmt::format("none among {} events", profile.events.size()),
         .hint =
             "profile a step on a GPU, with ProfilerActivity.CUDA beside ProfilerActivity.CPU"});
  }
  ProfiledDevice device{device_use(profile, timeline), profile.file, {}};
  device.calls = calls_alike(profile, timeline, timeline.usable_steps());
  return device;
}

DeviceUse device_use(const Profile& profile, const DeviceTimeline& timeline) {
  DeviceUse use;
  use.device = recorded_device(profile, timeline);
  use.doubts = doubts_of(profile, timeline);
  const et_schema::Stretches busy = DeviceTimeline::busy(timeline.events);
  std::int64_t beyond_ns = total_ns(busy);
  for (const et_schema::DeviceStep& step : timeline.steps) {
    beyond_ns -= covered_ns(busy, step.mark);
  }
  use.beyond_ns = static_cast<double>(beyond_ns);
  const std::vector<EventIndex> steps = timeline.usable_steps();
  use.steps = steps.size();
  const auto per_step = [&use](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(use.steps);
  };
  double in_window_ns = 0;
  for (const EventIndex step : steps) {
    use.step_ns += per_step(timeline.steps[step].length_ns);
    use.window_ns += static_cast<double>(timeline.steps[step].mark.ns());
    in_window_ns += static_cast<double>(covered_ns(busy, timeline.steps[step].mark));
  }
  std::vector<et_schema::DeviceEvent> used = timeline.events;
  std::erase_if(used, [&steps](const et_schema::DeviceEvent& event) {
    return !std::ranges::binary_search(steps, event.step);
  });
  use.busy_ns = per_step(total_ns(DeviceTimeline::busy(used)));
  if (use.doubts.knows_times() && !use.doubts.is_clock_unknown && !timeline.events.empty()) {
    use.idle = std::max(1 - in_window_ns / std::max(use.window_ns, 1.0), 0.0);
  }
  return use;
}

predictor::RowsRead profiled_rows(const Profile& profile) {
  predictor::RowsRead rows;
  const DeviceTimeline timeline = et_schema::device_timeline(profile);
  if (timeline.events.empty()) {
    return rows;
  }
  const ProfiledDevice device = profiled_device(profile, timeline);
  const std::string named = predictor::recorded_card_name(device.device);
  const std::string card = named.empty() ? std::string(predictor::kGpuPlace) : named;
  for (const ProfiledCall& call : device.calls) {
    if (const char* const reason = why_no_row(call)) {
      rows.left_out[reason] += call.times_ns.size();
    } else {
      rows.calls.push_back(row_of(call, card, std::string(et_schema::file_name(profile.file))));
    }
  }
  return rows;
}

ProfiledDevice read_profiled_device(const std::string& path) {
  std::optional<ProfiledDevice> device;
  const auto refuse = [&path](bool is_wrong, const char* got) {
    if (is_wrong) {
      throw et_schema::bad_input(
          "not one profile", {.file = path,
                              .expected = "a Kineto (chrome) trace",
                              .got = got,
                              .hint = "give what torch.profiler's export_chrome_trace() wrote"});
    }
  };
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    refuse(et_schema::classify_json(file.data) != et_schema::JsonKind::kKineto, "another file");
    refuse(device.has_value(), "several of them");
    const Profile profile =
        et_schema::parse_kineto(file.data, file.name, et_schema::KinetoDetail::kArguments);
    refuse(profile.not_run, "one of a step that did not run, whose times mean nothing");
    device = profiled_device(profile, et_schema::device_timeline(profile));
  });
  refuse(!device, "none");
  return *std::move(device);
}

}  // namespace understudy::cli
