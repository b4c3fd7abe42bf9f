#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The cost of recording one event, measured during the capture.
struct ObserverCost {
  double kineto_event_ns = 0;                   ///< an event of the profiler alone
  std::optional<double> kineto_launch_ns = {};  ///< a launch on a device, on top of its operator's
  std::optional<double> et_node_ns = {};        ///< a node of the execution trace, on top of that
};

/// Tells a trace from another one of the same name; both numbers are in its header.
struct TraceMark {
  std::int64_t pid = 0;
  std::int64_t start_ts = 0;
  bool operator==(const TraceMark&) const = default;
};

/// One rank of a capture.
struct CapturedRank {
  std::optional<TraceMark> trace;     ///< empty if the capture has no execution trace
  std::vector<std::string> files;     ///< base names
  std::vector<std::int64_t> step_ns;  ///< times of the unprofiled steps
  /// Page faults of the same steps.
  std::vector<std::int64_t> step_minor_faults;
  /// Page faults of the steps profiled without the trace.
  std::vector<std::int64_t> profiled_minor_faults;
  std::optional<ObserverCost> observer;
  /// Device → bytes of tensors that outlive a step and that no operator uses in it; empty if they
  /// were not recorded.
  std::map<std::string, std::uint64_t> untouched_tensor_bytes;
  /// The settings that decided which kernels ran, and the environment's variables that do so.
  std::map<std::string, std::string> kernel_settings;
  std::map<std::string, std::string> variables;
  /// The median of step_ns; none without steps.
  [[nodiscard]] std::optional<std::int64_t> median_step_ns() const;
  /// The median of step_minor_faults; none without steps.
  [[nodiscard]] std::optional<std::int64_t> median_minor_faults() const;
  [[nodiscard]] std::optional<std::int64_t> median_profiled_minor_faults() const;
};

/// The fields of capture.json that are read here.
struct Capture {
  std::string id;                   ///< a random text, one for all ranks
  std::int64_t world_size = 1;      ///< that of the job
  std::vector<CapturedRank> ranks;  ///< by rank
};

/// Reads what scripts/capture wrote (docs/capture.md). `file` names it in errors. Throws Error (bad
/// input): not JSON, another format or version, a key that is missing, a rank that is missing or
/// out of order.
[[nodiscard]] Capture parse_capture(std::string_view json, const std::string& file);

/// Whether the document's text says that it is a capture.
[[nodiscard]] bool is_capture(std::string_view json);

}  // namespace understudy::et_schema
