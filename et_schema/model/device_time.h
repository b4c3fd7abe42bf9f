#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {

void add_kernel_time(std::string_view kernel_class, std::int64_t ns, KernelClassTimes& times);
void add_kernel_times(const KernelClassTimes& added, KernelClassTimes& times);
/// Subtracts times by class; none becomes negative.
void take_kernel_times(const KernelClassTimes& taken, KernelClassTimes& times);
/// Scales the times so that they add up to `ns`, except for rounding.
void scale_kernel_times(std::int64_t ns, KernelClassTimes& times);

/// Returns the classes of all kernels that no instruction launched for this reason.
[[nodiscard]] KernelClassTimes classes_of(const Program& program, Outside why);

/// Returns the share of each class; of "not told" alone if the times are empty.
[[nodiscard]] std::map<std::string, double> class_shares(const KernelClassTimes& times);
/// Returns the share of a class; 0 without it.
[[nodiscard]] double share_of(std::string_view kernel_class, const KernelClassTimes& times);
/// Returns the share of an instruction's device time in kernels that communicate.
[[nodiscard]] double communication_share(const Instruction& instruction);
/// Returns true if most of an instruction's device time is in kernels that communicate.
[[nodiscard]] inline bool mostly_communicates(const Instruction& instruction) {
  return communication_share(instruction) > 0.5;
}
/// Returns true for communication that no instruction launched.
[[nodiscard]] inline bool communicates_unseen(const DeviceWork& work) {
  return !work.instruction && work.why == Outside::kUnseenComm;
}

/// Returns the instruction's kind in reports: "operator", "communication", "compiled kernel",
/// "label without operators".
[[nodiscard]] std::string_view kind_text(const Instruction& instruction);

/// HeldTime::holder of the host's time in no operator: Python's, and waits.
inline constexpr std::string_view kBetweenOperators = "between operators";

/// A part of a step's recorded time: one instruction's, or time that none holds.
struct HeldTime {
  const Instruction* instruction = nullptr;  ///< null: none, for the reason in `holder`
  std::string_view holder;  ///< kind_text(), to_string(Outside) or kBetweenOperators
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
  KernelClassTimes kernel_classes = {};  ///< the proportions of device_ns; empty: not known
};

/// Returns the parts that all recorded time of the program's step consists of: a part for each
/// instruction, then two for each row of RecordedProfile::outside (the host's and the device's
/// time), then the host's time between operators. Empty without a profile.
[[nodiscard]] std::vector<HeldTime> held_times(const Program& program);

/// Recorded time of one step, or the sum over ranks.
struct StepTime {
  double host_ms = 0;
  double device_ms = 0;
  std::map<std::string, double> class_ms = {};  ///< device_ms by kernel class, or "not told"
  bool operator==(const StepTime&) const = default;
};

/// What a verb makes of a step's time (docs/metrics.md, "The account of a step").
/// `whole` = `carried` + the sum of `left`.
struct Account {
  StepTime whole;
  StepTime carried;
  std::map<std::string, StepTime> left;  ///< by reason
};

struct AccountRow : StepTime {
  std::string what;
  bool operator==(const AccountRow&) const = default;
};
/// Returns "the step", "carried", then what is left, by reason. All but the first add up to it.
/// Empty without times.
[[nodiscard]] std::vector<AccountRow> account_rows(const Account& account);

/// Smallest share of a step's time that users are told of.
inline constexpr double kToldShare = 0.02;
/// Returns true for time that is lost, if nothing holds it for this reason: not the time between
/// operators, nor what filters leave out.
[[nodiscard]] bool is_loss(std::string_view why);

/// Why a benchmark itself lacks a part: no instruction holds it. Empty: one does.
[[nodiscard]] std::string in_no_instruction(const HeldTime& part);

/// Adds a program's step to an account. `why_left` returns the reason for which a part of the time
/// is left, and nothing for a part that is carried.
void add_step(const Program& program, const std::function<std::string(const HeldTime&)>& why_left,
              Account& account);

/// Returns what became of a part of the step's time: one of the fates below, or why it is in
/// nothing that runs.
using FateOf = std::function<std::string(const HeldTime&)>;
inline constexpr std::string_view kReplayed = "replayed";
inline constexpr std::string_view kSubstituted = "substituted";
inline constexpr std::string_view kStub = "stub";
inline constexpr std::string_view kDropped = "dropped";
inline constexpr std::string_view kNotApplicable = "not applicable here";
inline constexpr std::string_view kCommunication = "communication";

/// Sets the shares of the step's time, and its device time by fate, in a replay's coverage
/// (docs/metrics.md, "Coverage"). Without a profile, sets nothing.
void set_times(const Program& program, const FateOf& fate_of, Coverage& coverage);

/// Returns all recorded device time by kernel class and fate, longest first; shares add up to 1.
/// Empty without a profile that shows device events.
[[nodiscard]] std::vector<DeviceTime> device_times(const Program& program, const FateOf& fate_of);

/// Sums the lists of several programs or ranks by kernel class and fate.
[[nodiscard]] std::vector<DeviceTime> sum_of(const std::vector<std::vector<DeviceTime>>& parts);

}  // namespace understudy::et_schema
