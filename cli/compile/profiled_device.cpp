#include "compile/profiled_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "et_schema/json_trace/sniff.h"
#include "et_schema/kineto/nested_events.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "et_schema/support/error.h"
#include "et_schema/support/file_name.h"
#include "et_schema/support/input_files.h"
#include "et_schema/support/statistics.h"
#include "et_schema/support/stretches.h"
#include "predictor/calls/known_cards.h"
#include "predictor/operators/work.h"

namespace understudy::cli {
namespace {

using et_schema::DType;
using et_schema::KinetoArgument;
using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;
using Lists = std::vector<std::vector<std::int64_t>>;

/// "[16, 16]"; nothing of other texts.
std::optional<std::vector<std::int64_t>> integers_of(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return std::nullopt;
  }
  text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) {
      return text.empty() ? std::optional(numbers) : std::nullopt;
    }
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

void add_tensor(const et_schema::KinetoLayout& layout, DType dtype, predictor::OperatorCall& call) {
  predictor::TensorLayout& tensor = call.inputs.emplace_back();
  tensor.dtype = dtype;
  tensor.sizes.assign(layout.sizes.begin(), layout.sizes.end());
  if (layout.strides.size() == layout.sizes.size()) {
    tensor.strides.assign(layout.strides.begin(), layout.strides.end());
  }
}

/// A list's members have sizes, and no type: that of the first tensor that has one.
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

double duration_ns(const KinetoEvent& event) {
  return static_cast<double>(std::max<std::int64_t>(event.dur_ns, 0));
}

double product_of(const std::optional<std::vector<std::int64_t>>& numbers) {
  return numbers ? std::accumulate(numbers->begin(), numbers->end(), 1.0, std::multiplies<>()) : 0;
}

/// By "grid" and "block" in that order, "[40,2,1][128,1,1]". 0: not told. ROCm's products are
/// launched by hipExtModuleLaunchKernel, whose grid counts threads.
double blocks_of(const KinetoEvent& event) {
  const std::size_t end = event.shape.find(']');
  if (end == std::string_view::npos) {
    return 0;
  }
  const double grid = product_of(integers_of(event.shape.substr(0, end + 1)));
  const double block = product_of(integers_of(event.shape.substr(end + 1)));
  return event.name.starts_with("Cijk_") && block > 0 ? grid / block : grid;
}

void add_kernel(const KinetoEvent& event, ProfiledCall& call) {
  const std::string_view kernel_class = et_schema::kernel_class(event.name);
  const bool crosses = crosses_hosts(event, kernel_class);
  auto kernel = std::ranges::find(call.kernels, event.name, &ProfiledKernel::name);
  if (kernel == call.kernels.end()) {
    kernel = call.kernels.insert(
        call.kernels.end(),
        {std::string(event.name), std::string(kernel_class), 0, 0, blocks_of(event), crosses});
  }
  ++kernel->count;
  kernel->ns += duration_ns(event);
}

std::vector<ProfiledCall> calls_alike(const Profile& profile) {
  std::vector<ProfiledCall> calls;
  std::map<std::string, std::size_t> places;
  for (const generator::DeviceCall& found : generator::device_calls(profile)) {
    ProfiledCall call;
    call.by = found.by;
    if (found.call != nullptr) {
      call.call = call_of(*found.call);
    }
    // What no operator launched is alike where it is one kernel.
    const std::string_view kernel =
        found.call == nullptr ? profile.events[found.events.front()].name : std::string_view();
    const auto [place, is_new] =
        places.try_emplace(fmt::format("{} {}", call.key(), kernel), calls.size());
    if (is_new) {
      calls.push_back(std::move(call));
    }
    ProfiledCall& alike = calls[place->second];
    double ns = 0;
    for (const std::uint32_t event : found.events) {
      add_kernel(profile.events[event], alike);
      ns += duration_ns(profile.events[event]);
    }
    alike.times_ns.push_back(ns);
  }
  std::ranges::stable_sort(calls, std::ranges::greater{}, &ProfiledCall::total_ns);
  return calls;
}

/// The name of the device that most of the work ran on.
std::string device_name(const Profile& profile) {
  std::map<std::int64_t, std::size_t> events;
  for (const KinetoEvent& event : profile.events) {
    events[event.pid] += is_device_work(event) ? 1U : 0U;
  }
  const auto most =
      std::ranges::max_element(events, {}, [](const auto& row) { return row.second; });
  return profile.device_name(most->first);
}

void set_times(const Profile& profile, DeviceUse& device) {
  et_schema::Stretches steps;
  et_schema::Stretches work;
  et_schema::Stretches all;
  std::set<std::string_view> names;
  for (const KinetoEvent& event : profile.events) {
    if (is_profiler_step(event)) {
      steps.push_back(stretch_of(event));
      names.insert(event.name);
    } else if (is_device_work(event)) {
      work.push_back(stretch_of(event));
      all.push_back(stretch_of(event));
    } else if (event.category == KinetoCategory::kCpuOp) {
      all.push_back(stretch_of(event));
    }
  }
  device.steps = std::max<std::uint64_t>(names.size(), 1);
  const et_schema::Stretches& marks = steps.empty() ? all : steps;
  const auto begin_ns =
      std::ranges::min_element(marks, {}, &et_schema::Stretch::start_ns)->start_ns;
  const auto end_ns = std::ranges::max_element(marks, {}, &et_schema::Stretch::end_ns)->end_ns;
  device.host_ns = static_cast<double>(end_ns - begin_ns);
  device.busy_ns = static_cast<double>(total_ns(et_schema::merged_stretches(std::move(work))));
  device.device = device_name(profile);
}

predictor::MeasuredCall row_of(const ProfiledCall& call, const std::string& card,
                               const std::string& source) {
  std::vector<double> times_ns = call.times_ns;
  std::ranges::sort(times_ns);
  const auto at = [&times_ns](double q) { return *et_schema::percentile(times_ns, q); };
  predictor::MeasuredCall row;
  row.call = call.call;
  row.device = card;
  row.timed = predictor::TimedAs::kDevice;
  row.median_ns = at(0.5);
  row.spread_ns = at(0.9) - at(0.1);
  row.n = times_ns.size();
  row.source = source;
  return row;
}

/// Why a call tells nothing of its operator on a card; null: it does.
const char* why_no_row(const ProfiledCall& call) {
  if (call.by != generator::LaunchedBy::kOperator) {
    return "profiles: calls whose kernels no operator launched";
  }
  if (call.call.inputs.empty()) {
    return "profiles: calls of operators without sizes (record_shapes)";
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

ProfiledDevice profiled_device(const Profile& profile) {
  if (std::ranges::none_of(profile.events, et_schema::is_device_work)) {
    throw et_schema::bad_input(
        "a profile without device events",
        {.file = profile.file,
         .field = "traceEvents",
         .expected = "kernels, copies or fills of a GPU",
         .got = fmt::format("none among {} events", profile.events.size()),
         .hint =
             "profile a step on a GPU, with ProfilerActivity.CUDA beside ProfilerActivity.CPU"});
  }
  ProfiledDevice device;
  device.file = profile.file;
  device.calls = calls_alike(profile);
  set_times(profile, device);
  return device;
}

double DeviceUse::idle() const {
  return std::max(1 - busy_ns / std::max(host_ns, 1.0), 0.0);
}

std::optional<DeviceUse> device_use(const Profile& profile) {
  if (std::ranges::none_of(profile.events, et_schema::is_device_work)) {
    return std::nullopt;
  }
  DeviceUse use;
  set_times(profile, use);
  return use;
}

predictor::RowsRead profiled_rows(const Profile& profile) {
  predictor::RowsRead rows;
  if (std::ranges::none_of(profile.events, et_schema::is_device_work)) {
    return rows;
  }
  const ProfiledDevice device = profiled_device(profile);
  const predictor::Card* const known = predictor::find_known_card(device.device);
  const std::string card = known != nullptr        ? known->name
                           : device.device.empty() ? std::string(predictor::kGpuPlace)
                                                   : device.device;
  for (const ProfiledCall& call : device.calls) {
    if (const char* const reason = why_no_row(call)) {
      rows.left_out[reason] += call.times_ns.size();
    } else {
      rows.calls.push_back(row_of(call, card, std::string(et_schema::file_name(profile.file))));
    }
  }
  return rows;
}

nlohmann::ordered_json device_time_json(const et_schema::Bench& bench) {
  std::vector<std::vector<et_schema::DeviceTime>> ranks;
  for (const et_schema::Program& program : bench.programs) {
    ranks.push_back(et_schema::device_times(program, [](const et_schema::Instruction& instruction) {
      return std::string(kind_text(instruction));
    }));
  }
  auto rows = nlohmann::ordered_json::array();
  for (const et_schema::DeviceTime& row : sum_of(ranks)) {
    rows.push_back(
        {{"class", row.kernel_class}, {"fate", row.fate}, {"ms", row.ms}, {"share", row.share}});
  }
  return rows;
}

ProfiledDevice read_profiled_device(const std::string& path) {
  std::optional<ProfiledDevice> device;
  const auto refuse = [&path](const char* got) {
    throw et_schema::bad_input("not one profile",
                               {.file = path,
                                .expected = "a Kineto (chrome) trace",
                                .got = got,
                                .hint = "give what torch.profiler's export_chrome_trace() wrote"});
  };
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    if (et_schema::classify_json(file.data) != et_schema::JsonKind::kKineto) {
      refuse("another file");
    }
    if (device) {
      refuse("several of them");
    }
    device = profiled_device(
        et_schema::parse_kineto(file.data, file.name, et_schema::KinetoDetail::kArguments));
  });
  if (!device) {
    refuse("none");
  }
  return *std::move(device);
}

}  // namespace understudy::cli
