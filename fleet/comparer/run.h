#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/model/report.h"

namespace understudy::comparer {

/// What a row of a comparison is about.
enum class RowKind : std::uint8_t {
  kIteration,   ///< the whole step, by its own samples
  kCommon,      ///< what classes have in common: the machine's state, or all of the program
  kClass,       ///< all operators of a class
  kGap,         ///< host time outside of all operators
  kOperator,    ///< all calls of an operator
  kOnDevice,    ///< all calls of an operator, by the device's own time
  kCollective,  ///< all calls of a collective in one group and of one size
  kSpeedProbe,  ///< a fixed piece of work between the iterations: the core's clock
};

/// With fewer samples of a row, a run does not show its own noise.
inline constexpr std::size_t kFewSamples = 5;

/// The time of one row in the iterations of one run.
struct Series {
  RowKind kind = RowKind::kOperator;
  std::string name;         ///< "aten::mm", "matmul", "allreduce"; empty for iteration and gap
  std::string detail;       ///< class of an operator; group and size of a collective
  std::uint64_t count = 0;  ///< calls an iteration; 0 where it means nothing
  std::vector<double> samples_ms;  ///< one an iteration, in order; finite and not negative
  /// Of the iteration: the speed probe before each sample. Empty where it was not measured.
  std::vector<double> speed_probe_ms = {};
};

/// One run: a replay's report, the profile of a program, or a prediction.
struct Run {
  std::string file;
  bool is_profile = false;
  bool is_prediction = false;
  std::vector<Series> rows;
  int world_size = 1;
  std::string pace = "asap";           ///< "recorded", …: how operators were issued
  std::vector<std::string> filters;    ///< of a report: what narrowed the replay
  std::string interrupted_by;          ///< of a report that is not complete: the signal
  et_schema::Environment environment;  ///< of a report; of a profile the device alone
  bool is_cut_off = false;             ///< of a profile: the file ends before its end
  bool by_device = false;              ///< classes are of the device's own time
  bool has_sizes = false;              ///< of a profile: operators tell their arguments
  std::uint64_t steps_left_out = 0;    ///< of a profile: they lost device events
  bool is_incomplete = false;  ///< of a profile: device events of every step are lost or unknown
  std::uint64_t samples_left_out = 0;  ///< figures that were not finite
  /// et_schema::interruptions_per_s(): others ran on our cores.
  std::optional<double> switches_per_s;
};

/// The rows of a report's job: times of the slowest rank. A report without samples by iteration has
/// one sample an operator, the mean that it states.
[[nodiscard]] Run run_of(const et_schema::Report& report, const std::string& file);

/// The rows of a prediction: one sample each, operators of the rank that it lists.
[[nodiscard]] Run run_of(const et_schema::Prediction& prediction, const std::string& file);

/// The rows of a Kineto profile, of which `device` is the timeline: one sample for each usable
/// step. A row is an operator that no other operator called, or the highest one below it whose name
/// `known` has: a benchmark may have opened an operator. Names carry no overloads. Labels, and the
/// wrappers of autograd, are no operators. Times are the host's; with `by_device` those of classes
/// are what their operators' kernels took, and there is no gap. Throws Error (bad input) where no
/// operator lies in a step. O(n log n) in the number of events.
[[nodiscard]] Run run_of(const et_schema::Profile& profile, const et_schema::DeviceTimeline& device,
                         const std::set<std::string>& known, bool by_device = false);

/// Merges operators that differ in their overload alone, as profiles do: "aten::add.Tensor" is
/// "aten::add".
[[nodiscard]] Run without_overloads(const Run& run);

/// Names of a run's operators.
[[nodiscard]] std::set<std::string> operator_names(const Run& run);

}  // namespace understudy::comparer
