#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/model/report.h"

namespace understudy::comparer {

/// Subject of a comparison's row.
enum class RowKind : std::uint8_t {
  kIteration,   ///< the whole step, by its own samples
  kCommon,      ///< change that all classes share: the machine's state, or the whole program
  kClass,       ///< all operators of a class
  kGap,         ///< host time outside of all operators
  kOperator,    ///< all calls of an operator
  kOnDevice,    ///< all calls of an operator, by device time
  kCollective,  ///< all calls of a collective in one group and of one size
  kSpeedProbe,  ///< a fixed piece of work between the iterations: the core's clock
};

/// A run needs this many samples of a row to show its own noise.
inline constexpr std::size_t kFewSamples = 5;

/// The time of one row in the iterations of one run.
struct Series {
  RowKind kind = RowKind::kOperator;
  std::string name;         ///< "aten::mm", "matmul", "allreduce"; empty for iteration and gap
  std::string detail;       ///< class of an operator; group and size of a collective
  std::uint64_t count = 0;  ///< calls per iteration; 0 if not applicable
  std::vector<double> samples_ms;  ///< one per iteration, in order; finite and not negative
  /// Only for the iteration: the speed probe before each sample. Empty if not measured.
  std::vector<double> speed_probe_ms = {};
};

/// One run: a replay's report, the profile of a program, or a prediction.
struct Run {
  std::string file;
  bool is_profile = false;
  bool is_prediction = false;
  std::vector<Series> rows;
  int world_size = 1;
  std::string pace = "asap";         ///< "recorded", …: how operators were issued
  std::vector<std::string> filters;  ///< reports only: what narrowed the replay
  /// Reports only: operators that were stubbed or dropped, and how many: "2 dropped".
  std::map<std::string, std::string> not_replayed = {};
  std::string interrupted_by;          ///< reports only: the signal that interrupted it; else empty
  et_schema::Environment environment;  ///< reports: complete; others: a few fields
  bool is_cut_off = false;             ///< profiles only: the file is truncated
  std::string disturbance = {};        ///< how much the profiler disturbed it; else empty
  bool by_device = false;              ///< times of classes are device times
  /// Only with by_device: classes of all kernels of the device, by their names, and the share of
  /// their time that lies in no operator.
  std::vector<Series> kernel_classes = {};
  double outside_share = 0;
  bool has_sizes = false;               ///< profiles only: operators have their arguments' sizes
  et_schema::DeviceDoubts doubts = {};  ///< profiles only
  std::uint64_t samples_left_out = 0;   ///< values that were not finite
  /// et_schema::interruptions_per_s(); high if other programs ran on the same cores.
  std::optional<double> switches_per_s;
  et_schema::CountedRun counted = {};  ///< reports only
  et_schema::StepWork work = {};       ///< not of profiles
};

/// Returns the rows of a report's job: times of the slowest rank. A report without samples by
/// iteration has one sample per operator, its reported mean.
[[nodiscard]] Run run_of(const et_schema::Report& report, const std::string& file);

/// Returns the rows of a prediction, with one sample each. Operators are those of the slowest rank.
[[nodiscard]] Run run_of(const et_schema::Prediction& prediction, const std::string& file);

/// Returns the rows of a Kineto profile, whose device timeline is `device`: one sample for each
/// usable step.
/// A row is an operator without a calling operator or, because a benchmark may have decomposed the
/// operator, the highest one below it whose name is in `known`. Names have no overloads. Labels and
/// autograd's wrappers are not operators. Times are host times. With `by_device`, times of classes
/// are those of their operators' kernels, and there is no gap.
/// Throws Error (bad input) if no operator lies in a step. O(n log n) in the number of events.
[[nodiscard]] Run run_of(const et_schema::Profile& profile, const et_schema::DeviceTimeline& device,
                         const std::set<std::string>& known, bool by_device = false);

/// Makes classes those of all kernels, if more than a fiftieth of a side's device time lies in no
/// operator: then operators of a class do not show its time. Returns true if it did.
[[nodiscard]] bool class_by_kernels(Run& a, Run& b);

/// Merges operators that differ only in their overload, since profiles lack it: "aten::add.Tensor"
/// becomes "aten::add".
[[nodiscard]] Run without_overloads(const Run& run);

/// Returns the names of a run's operators.
[[nodiscard]] std::set<std::string> operator_names(const Run& run);

}  // namespace understudy::comparer
