#include "predictor/platform/platform_costs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>
#include <variant>

#include "et_schema/base/error.h"
#include "et_schema/base/interval.h"
#include "et_schema/base/json_record.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/sparse_content.h"
#include "et_schema/model/timed_work.h"
#include "predictor/calls/crossing.h"
#include "predictor/operators/anchored.h"
#include "predictor/operators/features.h"
#include "predictor/operators/sustained.h"

namespace understudy::predictor {
namespace {

constexpr double kUnknownGapNs = 2000;

/// Replaces another library's operator by the ATen operator that does about the same work.
void count_as_mapped(const Program& program, const Instruction& instruction, OperatorCall& call) {
  if (!instruction.schema || call.name.starts_with("aten::")) {
    return;
  }
  const std::string& schema = program.schemas[*instruction.schema];
  const et_schema::MapMatch match = et_schema::operator_map().find(schema);
  if (!match.call || match.call->row->like.empty()) {
    return;
  }
  std::vector<et_schema::Argument> read;
  for (const std::size_t argument : match.call->like_arguments()) {
    if (argument < instruction.args.size()) {
      read.push_back(instruction.args[argument]);
    }
  }
  std::vector<et_schema::Argument> written;
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    if (et_schema::argument_is_written(schema, i)) {
      written.push_back(instruction.args[i]);
    }
  }
  call.name = match.call->row->like;
  call.overload.clear();
  call.inputs = et_schema::layouts_of(program, read);
  if (call.outputs.empty()) {
    call.outputs = et_schema::layouts_of(program, written);
  }
  // A key cache is paged: a call reads only the pages that its content selects.
  const auto is_cache = [&](const TensorLayout& layout) {
    return layout.sizes.size() > call.inputs.front().sizes.size();
  };
  if (family_of(call.name) == Family::kAttention && !call.inputs.empty()) {
    std::erase_if(call.inputs, is_cache);
  }
}

std::optional<et_schema::SlotId> slot_of(const Instruction& instruction, std::size_t argument) {
  if (argument >= instruction.args.size()) {
    return std::nullopt;
  }
  const auto* slot = std::get_if<et_schema::Argument::SlotRef>(&instruction.args[argument].value);
  return slot == nullptr ? std::nullopt : std::optional(slot->id);
}

/// Returns the number of distinct rows in a row-sparse tensor; null for other tensors.
std::optional<std::int64_t> distinct_rows(const Program& program, const Instruction& instruction,
                                          std::size_t argument) {
  const std::optional<et_schema::SlotId> slot = slot_of(instruction, argument);
  const std::optional<et_schema::SparseContent> rows =
      slot ? et_schema::sparse_content(program, *slot) : std::nullopt;
  if (!rows || rows->indices.size() != 1) {
    return std::nullopt;
  }
  if (rows->coalesced) {
    return rows->elements;
  }
  const auto* reused = rows->indices.front().as<et_schema::ValueRule::ReusedIntegers>();
  return reused != nullptr ? std::min(et_schema::distinct_count(reused->reuse), rows->elements)
                           : rows_met(program.slots[*slot].sizes.front(), rows->elements);
}

/// Lists the devices as --card and the column Device of tables accept them.
std::string known_devices(const OperatorModels& models) {
  std::set<std::string> names;
  for (const auto& [key, unused] : models.devices()) {
    names.insert(key.device);
  }
  for (const Card& card : models.cards()) {
    names.insert(card.name);
  }
  return names.empty() ? "a device that was measured or described"
                       : fmt::format("{}", fmt::join(names, "; "));
}

[[noreturn]] void refuse(const OperatorModels& models, const std::string& got) {
  throw et_schema::usage_error("no such device in the platform file",
                               {.expected = known_devices(models),
                                .got = got,
                                .hint = "name one of them (--card, or a table's column Device), or "
                                        "describe a card: --card card.json"});
}

/// Returns true if `a` is the better key: device times are preferred to timed calls, on a host the
/// nearest number of threads.
bool is_better(const DeviceKey& a, const DeviceKey& b, int threads) {
  if (a.timed != b.timed) {
    return a.timed != TimedAs::kTimedCall;
  }
  return std::abs(a.threads - threads) < std::abs(b.threads - threads);
}

double page_fault_from_json(const et_schema::JsonField& section) {
  constexpr et_schema::NumberRange kNs = {"nanoseconds, 0 or more", et_schema::kNotNegative.holds};
  return et_schema::read_json<double>(section.at("page_fault_ns"), kNs);
}

}  // namespace

DeviceKey find_device(const OperatorModels& models, const PlatformDevice& device) {
  std::string name = device.name;
  for (const auto& [key, unused] : models.devices()) {
    if (device.name.empty() && !name.empty() && name != key.device) {
      refuse(models, "several devices, and none named");
    }
    name = device.name.empty() ? key.device : name;
  }
  const DeviceKey* best = nullptr;
  for (const auto& [key, unused] : models.devices()) {
    if (key.device == name && (best == nullptr || is_better(key, *best, device.threads))) {
      best = &key;
    }
  }
  if (best != nullptr) {
    return *best;
  }
  if (name.empty() || models.find_card(name) == nullptr) {
    refuse(models, name.empty() ? "none" : name);
  }
  const bool has_device_times = std::ranges::any_of(models.devices(), [](const auto& measured) {
    return measured.first.timed == TimedAs::kDevice;
  });
  return {name, 0, has_device_times ? TimedAs::kDevice : TimedAs::kTimedCall};
}

OperatorCall call_of(const Program& program, const Instruction& instruction) {
  OperatorCall call = et_schema::operator_call(program, instruction);
  if (instruction.kind == InstructionKind::kAlias) {
    call.name = "aten::as_strided";
  }
  count_as_mapped(program, instruction, call);
  const std::optional<std::int64_t> rows = distinct_rows(program, instruction, 1);
  return (rows ? sparse_update(call, rows) : std::nullopt).value_or(call);
}

bool has_issue_times(const Program& program) {
  return program.profile && program.profile->device_events > 0;
}

/// Returns how many kernels the instruction launched; nothing if that is not known.
static std::optional<std::uint64_t> known_launches(const Program& program,
                                                   const Instruction& instruction) {
  if (instruction.launched) {
    return instruction.launched->count;
  }
  return instruction.timing && has_issue_times(program)
             ? std::optional(instruction.timing->launches)
             : std::nullopt;
}

std::optional<double> page_fault_ns(const Platform& platform) {
  return section_of(platform, "host", page_fault_from_json);
}

CollectiveModels collectives_of(const Platform& platform) {
  return section_of(platform, "collectives", collectives_from_json).value_or(CollectiveModels());
}

PlatformCosts::PlatformCosts(const Platform& platform, const PlatformDevice& device,
                             RecordedParts recorded)
    : platform_(platform),
      key_(find_device(platform.operators, device)),
      card_(*platform.operators.find_card(key_.device)),
      recorded_(std::move(recorded)),
      ceilings_(section_of(platform, kCeilingsSection, et_schema::read_json<std::vector<Ceiling>>)
                    .value_or(std::vector<Ceiling>())),
      sustained_share_(sustained_share(card_)),
      collectives_(collectives_of(platform)),
      overheads_(section_of(platform, "overheads", overheads_from_json)) {
  if (device.fabric != nullptr) {
    add_fabric(*device.fabric, key_.device, collectives_);
    network_ = device.fabric->name;
  }
}

OperatorCost PlatformCosts::of_recorded(const Program& program,
                                        const Instruction& instruction) const {
  OperatorCost cost = recorded_.costs->of_operator(program, instruction);
  if (cost.device.ns <= 0) {
    return cost;
  }
  const auto kernels = static_cast<double>(cost.launches);
  const et_schema::KernelClassTimes& classes = instruction.timing->kernel_classes;
  if (instruction.kind != InstructionKind::kOp || et_schema::mostly_communicates(instruction)) {
    cost.device = carried(classes, kernels, cost.device.ns);
    return cost;
  }
  const auto longest = std::ranges::max_element(classes, {}, &et_schema::KernelClassTime::ns);
  cost.device = carried(
      {.call = call_of(program, instruction),
       .kernel_class = longest == classes.end() ? std::string_view() : longest->kernel_class,
       .kernels = kernels,
       .ns = cost.device.ns,
       .crosses_hosts = longest != classes.end() && longest->kernel_class == "copy" &&
                        crosses_devices(program, instruction)});
  return cost;
}

constexpr double kNsInS = 1e9;

/// Of FLOPs and bytes that a simulator's file tells, at the usual share of the card's peaks.
OperatorCost PlatformCosts::of_timed_work(const Instruction& instruction) const {
  constexpr double kUsual = 0.7;
  constexpr double kWidth = 0.7;
  const auto number = [&instruction](std::size_t at) {
    const auto* value = at < instruction.args.size()
                            ? std::get_if<std::int64_t>(&instruction.args[at].value)
                            : nullptr;
    return value == nullptr ? 0 : static_cast<double>(*value);
  };
  const double recorded_ns =
      instruction.timing ? static_cast<double>(instruction.timing->host_ns) : 0;
  Estimate estimate = {recorded_ns, 0, 2 * recorded_ns, kAsRecorded, false, false};
  if (number(1) > 0 && key_.timed != TimedAs::kHost) {
    const double compute_ns = number(1) / peak_flops(card_, DType::kBFloat16) * kNsInS;
    const double memory_ns = number(2) / card_.bandwidth_bytes_per_s * kNsInS;
    estimate = within(et_schema::root_sum_square(compute_ns, memory_ns) / kUsual, kWidth,
                      "FLOPs and bytes of the file");
  }
  OperatorCost cost;
  cost.host.model = estimate.model;
  (key_.timed == TimedAs::kHost ? cost.host : cost.device) = estimate;
  cost.launches = key_.timed == TimedAs::kHost ? 0 : 1;
  return cost;
}

OperatorCost PlatformCosts::of_operator(const Program& program,
                                        const Instruction& instruction) const {
  if (recorded_.is_step) {
    return of_recorded(program, instruction);
  }
  if (instruction.name.starts_with(et_schema::kTimedWork)) {
    return of_timed_work(instruction);
  }
  OperatorCost cost;
  if (communicates(instruction)) {
    // Only of_communication() counts the time to move the tensors. On a host it includes the call
    // itself.
    cost.host = key_.timed == TimedAs::kHost ? known(0, "within the communication")
                                             : of_host(program, instruction, {}, true);
    return cost;
  }
  const OperatorCall call = call_of(program, instruction);
  const Prediction prediction = platform_.operators.predict(call, key_);
  if (key_.timed == TimedAs::kHost) {
    cost.host = prediction;
    if (recorded_.page_faults) {
      add_estimate(recorded_.page_faults(program, instruction), cost.host);
    }
    return cost;
  }
  const std::optional<std::uint64_t> launches = known_launches(program, instruction);
  const Work work = work_of(call);
  const bool launches_nothing = (instruction.launched && instruction.launched->count == 0) ||
                                work.family == Family::kView ||
                                (work.family == Family::kAllocation && bytes_of(work) <= 0);
  cost.host =
      of_host(program, instruction, prediction, launches ? *launches > 0 : !launches_nothing);
  if (instruction.timing && instruction.timing->device_ns > 0 &&
      (instruction.kind != InstructionKind::kOp || et_schema::mostly_communicates(instruction))) {
    cost.device = carried(instruction.timing->kernel_classes,
                          static_cast<double>(instruction.timing->launches),
                          static_cast<double>(instruction.timing->device_ns));
    cost.launches = instruction.timing->launches;
  } else if (!launches_nothing) {
    cost.device = in_step(call, work, scaled(prediction, prediction.device_ns / prediction.ns));
    cost.launches = launches.value_or(1);
  }
  return cost;
}

double PlatformCosts::sustained_flops(DType dtype) const {
  const auto measured = std::ranges::find_if(ceilings_, [&](const Ceiling& one) {
    return one.is_sustained && one.device != "cpu" && one.name == to_string(dtype);
  });
  return measured != ceilings_.end() ? measured->per_s
                                     : sustained_share_ * most_flops(card_, dtype);
}

Estimate PlatformCosts::in_step(const OperatorCall& call, const Work& work, Estimate burst) const {
  constexpr double kWidth = 0.12;
  const bool is_large = bytes_of(work) > card_.l2_bytes;
  double least_ns = is_large ? bytes_of(work) / card_.bandwidth_bytes_per_s / kCopyShareInStep : 0;
  if (work.family == Family::kMatmul || work.family == Family::kAttention) {
    least_ns = std::max(least_ns, work.flops / sustained_flops(compute_dtype(call)));
  }
  least_ns *= kNsInS;
  return burst.ns >= least_ns ? burst : within(least_ns, kWidth, "sustained rate");
}

Estimate PlatformCosts::of_outside(const Program& program,
                                   const et_schema::DeviceWork& work) const {
  if (key_.timed == TimedAs::kHost) {
    return {.modelled = false};  // no host runs a card's kernels
  }
  return carried(classes_of(program, work.why), 1, static_cast<double>(work.device_ns));
}

Estimate PlatformCosts::carried(const et_schema::KernelClassTimes& classes, double kernels,
                                double ns) const {
  Estimate sum;
  for (const auto& [kernel_class, share] : et_schema::class_shares(classes)) {
    const Estimate part = carried({.call = {},
                                   .kernel_class = kernel_class,
                                   .kernels = share * kernels,
                                   .ns = share * ns,
                                   .crosses_hosts = kernel_class == "communication"});
    add_estimate(part, sum);
    sum.model = part.model;
    sum.modelled &= part.modelled;
  }
  return sum;
}

Estimate PlatformCosts::carried(const RecordedKernels& recorded) const {
  const bool is_known = card_.bandwidth_bytes_per_s > 0 && recorded_.card.has_value();
  if (!is_known && !recorded.crosses_hosts) {
    return {recorded.ns, 0, 2 * recorded.ns, kAsRecorded, false, false};
  }
  const Card none;
  const TimeParts parts =
      anchored_time(recorded, is_known ? *recorded_.card : none, is_known ? card_ : none);
  const double width_ns = parts.half_width_ns();
  return {parts.total_ns(), std::max(parts.total_ns() - width_ns, 0.0), parts.total_ns() + width_ns,
          recorded.call.name.empty() ? "the class of its kernels" : "its recorded time"};
}

Estimate PlatformCosts::of_host(const Program& program, const Instruction& instruction,
                                const Prediction& prediction, bool launches) const {
  const bool was_issued = has_issue_times(program) && (recorded_.costs || instruction.timing);
  if (knows_host()) {
    // Profiles name operators without their overload.
    const std::string name(et_schema::without_overload(instruction.name));
    const bool has_overload = overheads_->operators.contains(instruction.name);
    if (!was_issued || has_overload || overheads_->operators.contains(name)) {
      return host_time_of(*overheads_, has_overload ? instruction.name : name, launches);
    }
  }
  if (was_issued) {
    return recorded_.costs ? recorded_.costs->of_operator(program, instruction).host
                           : known(static_cast<double>(instruction.timing->host_ns), "recorded");
  }
  return prediction.host_ns > 0 ? scaled(prediction, prediction.host_ns / prediction.ns)
                                : guessed(kUnknownGapNs, "no model of the host");
}

std::optional<Estimate> PlatformCosts::of_end(const Program& program) const {
  return recorded_.is_step ? recorded_.costs->of_end(program) : std::nullopt;
}

Estimate PlatformCosts::of_communication(const GroupComm& call) const {
  if (recorded_.is_step) {
    return recorded_.costs->of_communication(call);  // as in profiles alone
  }
  const std::string device = key_.timed == TimedAs::kHost ? "" : key_.device;
  Estimate time = estimate(collectives_, call, {device, network_});
  if (!device.empty() && call.ranks > 1 && time.ns > 0) {
    constexpr double kWidth = 0.7;
    add_estimate(within(kLateStepNs * steps_of(call.kind, call.ranks, call.nodes), kWidth), time);
  }
  return time;
}

Estimate PlatformCosts::of_gap(const Program& program, const Instruction& instruction) const {
  if (recorded_.costs == nullptr) {
    return overheads_ ? gap_of(*overheads_) : guessed(kUnknownGapNs, "no model of the host");
  }
  Estimate gap = recorded_.costs->of_gap(program, instruction);
  if (recorded_.is_step) {
    return gap;
  }
  // Iterations follow each other: time after the last operator counts before the first.
  const auto first = std::ranges::find_if(program.instructions, [](const Instruction& at) {
    return at.timing && at.kind != InstructionKind::kMarker;
  });
  if (first != program.instructions.end() && &*first == &instruction) {
    if (const auto end = recorded_.costs->of_end(program)) {
      add_estimate(*end, gap);
    }
  }
  return gap;
}

}  // namespace understudy::predictor
