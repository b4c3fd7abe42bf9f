#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/device_time.h"
#include "predictor/calls/call.h"
#include "predictor/calls/measured_files.h"

namespace understudy::cli {

/// Device events of one name, launched by equal calls.
struct ProfiledKernel {
  std::string name;
  std::string kernel_class;    ///< et_schema::DeviceEvent::kernel_class
  std::uint64_t count = 0;     ///< events of all calls
  double ns = 0;               ///< total time
  double blocks = 0;           ///< thread blocks of one event; 0: not recorded
  bool crosses_hosts = false;  ///< copies from or to a host, communication
};

/// Calls of one operator with arguments of the same sizes and types, and what they launched.
struct ProfiledCall {
  /// The results are set by add_assumed_results(). The name is empty if no operator was open; the
  /// arguments are empty if none are recorded.
  predictor::OperatorCall call;
  et_schema::LaunchedBy by = et_schema::LaunchedBy::kNothing;
  std::vector<double> times_ns;  ///< device time of each call
  bool is_cut_off = false;       ///< the profile lost a part of the device work of a call
  std::vector<ProfiledKernel> kernels;
  [[nodiscard]] double total_ns() const;
  /// "aten::linear bfloat16[8,512] …"; or how the work was launched if no operator launched it.
  [[nodiscard]] std::string key() const;
};

/// The card that most of a profile's work ran on, and how long it was busy.
struct DeviceUse {
  et_schema::RecordedDevice device;
  std::uint64_t steps = 1;  ///< number of steps measured: DeviceTimeline::usable_steps()
  double step_ns = 0;       ///< mean length of a step, to the end of its device's work
  double busy_ns = 0;       ///< time of a step in which any of its device work ran
  double window_ns = 0;     ///< total length of the steps' marks
  double beyond_ns = 0;     ///< busy time outside of the marks of all steps
  /// Share of window_ns in which nothing ran. Unset if `doubts` leave it unknown.
  std::optional<double> idle;
  et_schema::DeviceDoubts doubts;
};

/// The device's side of a profile.
struct ProfiledDevice : DeviceUse {
  std::string file;
  std::vector<ProfiledCall> calls;         ///< longest first
  [[nodiscard]] bool has_layouts() const;  ///< true if any operator has recorded arguments
};

[[nodiscard]] DeviceUse device_use(const et_schema::Profile& profile,
                                   const et_schema::DeviceTimeline& timeline);

/// Returns the work of the usable steps of a profile that was read with KinetoDetail::kArguments.
/// Throws Error (bad input) if the profile has no device events.
[[nodiscard]] ProfiledDevice profiled_device(const et_schema::Profile& profile,
                                             const et_schema::DeviceTimeline& timeline);

/// Returns a row with the device time for each operator and its arguments' sizes and types. The
/// card is named by its data sheet if known, else by the profile, else kGpuPlace. Returns no rows
/// for a profile without device events. Calls that cannot become rows are counted by reason.
[[nodiscard]] predictor::RowsRead profiled_rows(const et_schema::Profile& profile);

/// Reads the only profile of a file. Throws Error (bad input) if the file holds no profile, several
/// profiles or anything else, or if the profile has no device events.
[[nodiscard]] ProfiledDevice read_profiled_device(const std::string& path);

}  // namespace understudy::cli
