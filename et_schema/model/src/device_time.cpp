#include "et_schema/model/device_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace understudy::et_schema {
namespace {

/// Names in the order of enum Outside.
constexpr std::array<std::string_view, kOutsideCount> kOutsideNames = {"opened operators",
                                                                       "wrapped operators",
                                                                       "operators without memory",
                                                                       "left out by a filter",
                                                                       "label without operator",
                                                                       "graph launch",
                                                                       "unlinked",
                                                                       "unseen communication"};

constexpr double kNsInMs = 1e6;

/// (class, fate) → ms.
using Sums = std::map<std::pair<std::string, std::string>, double>;

double sum_ns(const KernelClassTimes& times) {
  double sum = 0;
  for (const KernelClassTime& time : times) {
    sum += static_cast<double>(time.ns);
  }
  return sum;
}

/// Calls add(class, ms) for the parts of a device time by kernel class.
void share_out(const HeldTime& time, const auto& add) {
  const double ms = static_cast<double>(time.device_ns) / kNsInMs;
  for (const auto& [kernel_class, share] : class_shares(time.kernel_classes)) {
    if (time.device_ns > 0) {
      add(kernel_class, ms * share);
    }
  }
}

void add_time(const HeldTime& part, StepTime& sum) {
  sum.host_ms += static_cast<double>(part.host_ns) / kNsInMs;
  sum.device_ms += static_cast<double>(part.device_ns) / kNsInMs;
  share_out(part, [&sum](const std::string& kernel_class, double ms) {
    sum.class_ms[kernel_class] += ms;
  });
}

std::vector<DeviceTime> rows_of(const Sums& sums) {
  double all_ms = 0;
  for (const auto& [key, ms] : sums) {
    all_ms += ms;
  }
  std::vector<DeviceTime> rows;
  for (const auto& [key, ms] : sums) {
    rows.push_back({key.first, key.second, ms, ms / all_ms});
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &DeviceTime::ms);
  return rows;
}

}  // namespace

void add_kernel_time(std::string_view kernel_class, std::int64_t ns, KernelClassTimes& times) {
  auto place = std::ranges::lower_bound(times, kernel_class, {}, &KernelClassTime::kernel_class);
  if (place == times.end() || place->kernel_class != kernel_class) {
    place = times.insert(place, {std::string(kernel_class), 0});
  }
  if (__builtin_add_overflow(place->ns, ns, &place->ns)) {
    place->ns = std::numeric_limits<std::int64_t>::max();
  }
}

void add_kernel_times(const KernelClassTimes& added, KernelClassTimes& times) {
  for (const KernelClassTime& time : added) {
    add_kernel_time(time.kernel_class, time.ns, times);
  }
}

void take_kernel_times(const KernelClassTimes& taken, KernelClassTimes& times) {
  for (const KernelClassTime& part : taken) {
    const auto time = std::ranges::find(times, part.kernel_class, &KernelClassTime::kernel_class);
    if (time != times.end()) {
      time->ns -= std::min(time->ns, part.ns);
    }
  }
  std::erase_if(times, [](const KernelClassTime& time) { return time.ns == 0; });
}

void scale_kernel_times(std::int64_t ns, KernelClassTimes& times) {
  const double all_ns = sum_ns(times);
  for (KernelClassTime& time : times) {
    time.ns = std::llround(static_cast<double>(ns) * static_cast<double>(time.ns) /
                           std::max(all_ns, 1.0));
  }
}

KernelClassTimes classes_of(const Program& program, Outside why) {
  static const std::vector<OutsideTime> kNone;
  KernelClassTimes times;
  for (const OutsideTime& row : program.profile ? program.profile->outside : kNone) {
    if (row.why == why && row.device_ns > 0) {
      add_kernel_times(row.kernel_classes, times);
    }
  }
  return times;
}

std::map<std::string, double> class_shares(const KernelClassTimes& times) {
  const double all_ns = sum_ns(times);
  std::map<std::string, double> shares;
  for (const KernelClassTime& time : times) {
    if (time.ns > 0) {
      shares[time.kernel_class] += static_cast<double>(time.ns) / all_ns;
    }
  }
  return shares.empty() ? std::map<std::string, double>{{"not told", 1}} : shares;
}

double share_of(std::string_view kernel_class, const KernelClassTimes& times) {
  const auto found = std::ranges::find(times, kernel_class, &KernelClassTime::kernel_class);
  return found == times.end() ? 0 : static_cast<double>(found->ns) / std::max(sum_ns(times), 1.0);
}

double communication_share(const Instruction& instruction) {
  return instruction.timing ? share_of("communication", instruction.timing->kernel_classes) : 0;
}

std::string_view to_string(Outside why) {
  return kOutsideNames[static_cast<std::size_t>(why)];
}

std::string_view kind_text(const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kCollective:
    case InstructionKind::kP2p:
    case InstructionKind::kWait:
      return "communication";
    case InstructionKind::kKernel:
      return "compiled kernel";
    case InstructionKind::kNative:
      return "label without operators";
    default:
      return "operator";
  }
}

std::vector<HeldTime> held_times(const Program& program) {
  std::vector<HeldTime> parts;
  if (!program.profile) {
    return parts;
  }
  for (const Instruction& instruction : program.instructions) {
    if (instruction.timing) {
      const Timing& timing = *instruction.timing;
      parts.push_back({&instruction, kind_text(instruction), timing.host_ns, timing.device_ns,
                       timing.kernel_classes});
    }
  }
  for (const OutsideTime& row : program.profile->outside) {
    parts.push_back({nullptr, to_string(row.why), row.host_ns, 0});
    parts.push_back({nullptr, to_string(row.why), 0, row.device_ns, row.kernel_classes});
  }
  std::int64_t between_ns = program.profile->step_ns;
  for (const HeldTime& part : parts) {
    between_ns -= std::min(between_ns, part.host_ns);
  }
  if (between_ns > 0) {
    parts.push_back({nullptr, kBetweenOperators, between_ns, 0});
  }
  return parts;
}

std::string in_no_instruction(const HeldTime& part) {
  return std::string(part.instruction == nullptr ? part.holder : "");
}

void add_step(const Program& program, const std::function<std::string(const HeldTime&)>& why_left,
              Account& account) {
  for (const HeldTime& part : held_times(program)) {
    if (part.host_ns > 0 || part.device_ns > 0) {
      const std::string why = why_left(part);
      add_time(part, account.whole);
      add_time(part, why.empty() ? account.carried : account.left[why]);
    }
  }
}

std::vector<AccountRow> account_rows(const Account& account) {
  std::vector<AccountRow> rows;
  if (account.whole.host_ms > 0 || account.whole.device_ms > 0) {
    rows = {{account.whole, "the step"}, {account.carried, "carried"}};
    for (const auto& [why, time] : account.left) {
      rows.push_back({time, why});
    }
  }
  return rows;
}

bool is_loss(std::string_view why) {
  return why != kBetweenOperators && why != to_string(Outside::kFiltered);
}

void set_times(const Program& program, const FateOf& fate_of, Coverage& coverage) {
  const std::vector<HeldTime> parts = held_times(program);
  const auto is_work = [](const HeldTime& part) {
    return part.instruction == nullptr || !part.instruction->comm;
  };
  const auto time =
      std::ranges::any_of(parts,
                          [&](const HeldTime& part) { return is_work(part) && part.device_ns > 0; })
          ? &HeldTime::device_ns
          : &HeldTime::host_ns;
  double whole = 0;
  std::map<std::string, double> sums;
  for (const HeldTime& part : parts) {
    const std::string fate = is_work(part) ? fate_of(part) : std::string(kNotApplicable);
    if (fate != kNotApplicable && part.*time > 0) {
      whole += static_cast<double>(part.*time);
      sums[fate] += static_cast<double>(part.*time);
    }
  }
  const auto is_unknown = [](const auto& row) { return row.name.empty() && row.count > 0; };
  const auto& profile = program.profile;
  if (whole == 0 || (profile && std::ranges::any_of(profile->lost, is_unknown))) {
    return;
  }
  const auto take = [&](std::string_view fate) {
    const auto node = sums.extract(std::string(fate));
    return node.empty() ? 0 : node.mapped();
  };
  const double substituted = take(kSubstituted);
  coverage.substituted_time = substituted / whole;
  coverage.time = (take(kReplayed) + substituted) / whole;
  coverage.dropped_time = (take(kStub) + take(kDropped)) / whole;
  for (const auto& [fate, sum] : sums) {
    coverage.other_time.push_back({fate, sum / whole});
  }
  coverage.device_time = device_times(program, fate_of);
}

std::vector<DeviceTime> device_times(const Program& program, const FateOf& fate_of) {
  Sums sums;
  for (const HeldTime& part : held_times(program)) {
    const std::string fate = fate_of(part);
    share_out(part, [&](const std::string& kernel_class, double ms) {
      sums[{kernel_class, fate}] += ms;
    });
  }
  return rows_of(sums);
}

std::vector<DeviceTime> sum_of(const std::vector<std::vector<DeviceTime>>& parts) {
  Sums sums;
  for (const std::vector<DeviceTime>& part : parts) {
    for (const DeviceTime& row : part) {
      sums[{row.kernel_class, row.fate}] += row.ms;
    }
  }
  return rows_of(sums);
}

}  // namespace understudy::et_schema
