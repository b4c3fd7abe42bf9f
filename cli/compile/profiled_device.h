#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/device_time.h"
#include "predictor/calls/call.h"
#include "predictor/calls/measured_files.h"

namespace understudy::cli {

/// Device events of one name that calls alike launched.
struct ProfiledKernel {
  std::string name;
  std::string kernel_class;    ///< et_schema::kernel_class()
  std::uint64_t count = 0;     ///< in all calls
  double ns = 0;               ///< of all of them
  double blocks = 0;           ///< of threads, in one of them; 0: not told
  bool crosses_hosts = false;  ///< copies from or to a host, communication
};

/// Calls of one operator with arguments of the same sizes and types, and what they launched.
struct ProfiledCall {
  /// Results as add_assumed_results() has them; without a name where no operator was open, without
  /// arguments where none are told.
  predictor::OperatorCall call;
  et_schema::LaunchedBy by = et_schema::LaunchedBy::kNothing;
  std::vector<double> times_ns;  ///< on the device, of each call
  bool is_cut_off = false;       ///< the profile lost a part of what one of them launched
  std::vector<ProfiledKernel> kernels;
  [[nodiscard]] double total_ns() const;
  /// "aten::linear bfloat16[8,512] …"; of what no operator launched how it was launched.
  [[nodiscard]] std::string key() const;
};

/// The card that most of a profile's work ran on, and how long it was at work.
struct DeviceUse {
  std::string device;       ///< its name; empty: not told
  std::uint64_t steps = 1;  ///< that the figures are of: DeviceTimeline::usable_steps()
  double step_ns = 0;       ///< mean length of a step, to the end of its device's work
  double busy_ns = 0;       ///< of a step: in which anything that it launched ran
  double window_ns = 0;     ///< Σ of the steps' marks
  double beyond_ns = 0;     ///< in which anything ran outside of the marks of all steps
  /// Share of window_ns in which nothing ran; null if work was lost, or is of unknown categories.
  std::optional<double> idle;
  std::uint64_t launches = 0;  ///< of kernels, copies and graphs, in all steps
  std::uint64_t lost = 0;      ///< of those
  bool is_incomplete = false;  ///< all steps lost work, or some is of unknown categories
};

/// The device's side of a profile.
struct ProfiledDevice : DeviceUse {
  std::string file;
  std::vector<ProfiledCall> calls;         ///< longest first
  [[nodiscard]] bool has_layouts() const;  ///< whether any operator tells its arguments
};

[[nodiscard]] DeviceUse device_use(const et_schema::Profile& profile,
                                   const et_schema::DeviceTimeline& timeline);

/// The work of the usable steps of a profile that was read with KinetoDetail::kArguments. Throws
/// Error (bad input): without device events.
[[nodiscard]] ProfiledDevice profiled_device(const et_schema::Profile& profile,
                                             const et_schema::DeviceTimeline& timeline);

/// A row for all calls of an operator with arguments of the same sizes and types: what they took on
/// the card. That has the name of its data sheet where one is known, else the profile's, else
/// kGpuPlace. Nothing of a profile without device events; other calls are counted by what keeps
/// them from being rows.
[[nodiscard]] predictor::RowsRead profiled_rows(const et_schema::Profile& profile);

/// The recorded device time of all ranks by class of kernel and kind of instruction, {class, fate,
/// ms, share} (et_schema/model/device_time.h); empty where no profile with device events is linked.
[[nodiscard]] nlohmann::ordered_json device_time_json(const et_schema::Bench& bench);

/// The only profile of a file. Throws Error: bad input, if it is something else, and as above.
[[nodiscard]] ProfiledDevice read_profiled_device(const std::string& path);

}  // namespace understudy::cli
