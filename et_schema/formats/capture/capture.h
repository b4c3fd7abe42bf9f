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
  double kineto_event_ns = 0;                   ///< per event of the profiler
  std::optional<double> kineto_launch_ns = {};  ///< additional, per device launch
  std::optional<double> et_node_ns = {};        ///< additional, per node of the execution trace
};

/// Distinguishes traces of the same name. Both numbers are in the trace's header.
struct TraceMark {
  std::int64_t pid = 0;
  std::int64_t start_ts = 0;
  bool operator==(const TraceMark&) const = default;
};

/// One rank of a capture.
struct CapturedRank {
  int rank = 0;
  std::optional<TraceMark> trace;     ///< empty if the capture has no execution trace
  std::vector<std::string> files;     ///< base names
  std::vector<std::int64_t> step_ns;  ///< times of the unprofiled steps
  /// Page faults of the unprofiled steps.
  std::vector<std::int64_t> step_minor_faults;
  /// Page faults of the steps profiled without the trace.
  std::vector<std::int64_t> profiled_minor_faults;
  Counters counters;  ///< of an unprofiled step's process
  std::optional<ObserverCost> observer;
  /// Device → bytes of the tensors that outlive a step and that its operators do not use. Empty if
  /// not recorded.
  std::map<std::string, std::uint64_t> untouched_tensor_bytes;
  /// Of a capture that did not run: the peak of its device's tensors, by their lifetimes.
  std::optional<std::uint64_t> peak_bytes;
  /// Settings and environment variables that determine which kernels run.
  std::map<std::string, std::string> kernel_settings;
  std::map<std::string, std::string> variables;
  /// Returns the median of step_ns; nothing without steps.
  [[nodiscard]] std::optional<std::int64_t> median_step_ns() const;
  /// Returns the 95 % interval of that median; nothing for few steps.
  [[nodiscard]] std::optional<StepInterval> step_interval() const;
  /// Returns the median of step_minor_faults; nothing without steps.
  [[nodiscard]] std::optional<std::int64_t> median_minor_faults() const;
  [[nodiscard]] std::optional<std::int64_t> median_profiled_minor_faults() const;
};

/// Fields of capture.json that the tools use.
struct Capture {
  std::string id;                   ///< a random text, the same for all ranks
  std::int64_t world_size = 1;      ///< size of the traced job
  std::vector<CapturedRank> ranks;  ///< ordered by rank; some can be missing
  /// Returns the rank that lists a file, of which the base name counts; null: none does.
  [[nodiscard]] const CapturedRank* rank_of(const std::string& file) const;
};

/// Parses a capture.json of scripts/capture (docs/capture.md). `file` names it in errors. Throws
/// Error (bad input) if the text is not JSON, has another format or version, lacks a key, or the
/// ranks are out of order.
[[nodiscard]] Capture parse_capture(std::string_view json, const std::string& file);

/// Returns true if the document's "format" is that of a capture.
[[nodiscard]] bool is_capture(std::string_view json);

}  // namespace understudy::et_schema
