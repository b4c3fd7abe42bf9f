#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "et_schema/model/counted_kernel.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/recorded_device.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Kineto's categories that matter for time. Other categories keep only their text.
enum class KinetoCategory : std::uint8_t {
  kCpuOp,
  kUserAnnotation,
  kGpuUserAnnotation,
  kKernel,
  kGpuMemcpy,
  kGpuMemset,
  kRuntime,  ///< cuda_runtime and cuda_driver
  kSync,     ///< cuda_sync
  kOverhead,
  kOther
};

/// The layout of a tensor, in elements.
struct KinetoLayout {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
};

/// An operator's argument, recorded with record_shapes.
struct KinetoArgument {
  std::string_view type;   ///< "Input type": "float", "c10::BFloat16", "Scalar", "ScalarList",
                           ///< "TensorList", "GenericList"; empty: absent or unknown
  std::string_view value;  ///< "Concrete Inputs": "1", "[16, 16]"; empty for tensors and texts
  /// "Input Dims" and "Input Strides": one layout for a tensor, one for each tensor of a list.
  /// Other arguments have one layout without sizes.
  std::span<const KinetoLayout> layouts;
};

/// One complete event ("ph": "X", or a "B" with its "E").
struct KinetoEvent {
  std::string_view name;  ///< changed by Kineto's sanitiser, so not a reliable key
  std::string_view category_text;
  KinetoCategory category = KinetoCategory::kOther;
  std::int64_t ts_ns = 0;   ///< since the epoch or since boot: see base_time_ns
  std::int64_t dur_ns = 0;  ///< < 0: damaged, or not recorded (device events)
  std::int64_t pid = -1;    ///< process, or device of device events; -1: not a number ("Spans")
  std::int64_t tid = -1;    ///< OS thread, or stream of device events; -1: not a number
  std::int64_t external_id = -1;  ///< -1: none. In old device events: the correlation
  std::int64_t rf_id = -1;        ///< "Record function id": a trace node's rf_id; -1: none
  std::int64_t correlation = -1;
  std::int64_t stream = -1;
  std::int64_t device = -1;
  std::int64_t wait_stream = -1;         ///< "wait_on_stream": stream of the awaited event
  std::int64_t record_correlation = -1;  ///< "wait_on_cuda_event_record_corr_id": recording call
  std::int64_t sequence = -1;            ///< "Sequence number"
  std::int64_t bytes = -1;               ///< of copies and memsets
  std::int64_t registers = -1;           ///< "registers per thread" of a kernel
  std::int64_t shared_bytes = -1;        ///< "shared memory" of a kernel's block
  std::int64_t page_faults = -1;         ///< of an operator including its children; -1: not counted
  std::string_view shape = {};  ///< JSON, read if KinetoDetail includes it: a kernel's "grid" and
                                ///< "block", an operator's "Input Dims"; empty: not recorded
  // Operators only, with KinetoDetail::kArguments:
  std::span<const KinetoArgument> arguments = {};
  std::int64_t forward_thread = 0;       ///< "Fwd thread id", PyTorch's own number; 0: not backward
  std::string_view kernel_backend = {};  ///< "triton"
  std::string_view kernel_file = {};
};

/// Returns true for work that the host launched on a device: a kernel, a copy or a memset.
[[nodiscard]] constexpr bool is_device_work(const KinetoEvent& event) {
  return event.category == KinetoCategory::kKernel ||
         event.category == KinetoCategory::kGpuMemcpy ||
         event.category == KinetoCategory::kGpuMemset;
}

/// Additional details to read. Each level includes the levels before it.
enum class KinetoDetail : std::uint8_t { kTimes, kShapes, kArguments };

/// Metadata of a kernel that communicates, or of a host's record_param_comms.
struct KinetoComm : CommAttributes {
  std::size_t event = 0;           ///< position in Profile::events
  std::string_view dtype;          ///< "Float"
  std::int64_t in_elements = -1;   ///< "In msg nelems"
  std::int64_t out_elements = -1;  ///< "Out msg nelems"
  std::string_view ranks;          ///< "Process Group Ranks": "[0, 1]", truncated after 30 ranks
  std::string_view in_splits;      ///< "In split size": "[1, 2]"
  std::string_view out_splits;     ///< "Out split size"
  std::int64_t rank = -1;          ///< "Rank" in the group: the root, or the peer of a message
  std::int64_t sequence = -1;      ///< "Seq", which a wait shares with its collective
};

/// An allocation, or a free if `bytes` is negative, recorded with profile_memory.
struct KinetoMemory {
  std::int64_t ts_ns = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  bool on_cpu = true;
  std::int64_t allocated_bytes = -1;  ///< "Total Allocated" on the device after this event; -1: not
                                      ///< recorded
};

/// Category of events that say what the range profiler counted while a kernel ran.
inline constexpr std::string_view kProfilerRange = "cuda_profiler_range";

struct KinetoDevice : RecordedDevice {
  std::int64_t id = 0;
};

/// "distributedInfo", written by jobs of several ranks.
struct DistributedInfo {
  std::string backend;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  std::vector<ProcessGroup> groups;
};

/// A Kineto chrome trace: complete events in the file's order, which is not chronological. Skips
/// Python frames (90 % of the events if stacks were recorded) and flow, metadata and instant
/// events, except allocations. Move-only: it owns the texts of its views.
struct Profile {
  std::string file;
  std::int64_t schema_version = 0;
  std::int64_t base_time_ns = 0;  ///< already added to every ts_ns; 0 in files up to early 2024
  std::uint64_t content_hash = 0;
  std::uint64_t content_bytes = 0;
  /// "notRun", which captures without hardware write: the step was only told to a driver that
  /// computes nothing. What it launches is known, its times mean nothing.
  bool not_run = false;
  std::optional<DistributedInfo> distributed;
  std::vector<KinetoDevice> devices;
  std::vector<KinetoEvent> events;
  std::vector<KinetoComm> comms;       ///< of kernels, in the file's order
  std::vector<KinetoComm> host_comms;  ///< of operators, if KinetoDetail includes them
  std::vector<KinetoMemory> memory;    ///< in the file's order
  std::vector<CountedKernel> ranges;   ///< in the file's order, which is that of the launches
  Losses losses;
  /// Base name of the run whose device events were added (graph_capture.h); empty: none were.
  std::string graph_run;

  /// Returns the device that has this pid in events; without a name if unknown. ROCm's profiles
  /// number GPUs after the CPUs in events, but from 0 in "deviceProperties". So if no id matches
  /// and all devices have the same name, returns the first.
  [[nodiscard]] RecordedDevice device(std::int64_t pid) const;

  /// Holds the events' texts.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena;
};

/// Parses a Kineto chrome trace: an object, or a list of events alone. Times are whole
/// microseconds, or have three decimals relative to baseTimeNanoseconds; in the result they are
/// whole nanoseconds (exact up to 2^43 µs after the base). Repairs damage as parse_trace() does.
/// `json` is the uncompressed file and is not kept; `file` names it in errors. Throws Error (bad
/// input) if the text is not JSON, is an execution trace or something else, holds several profiles
/// or processes or no events, numbers overflow, or values are nested too deep. Linear in the
/// input's size.
[[nodiscard]] Profile parse_kineto(std::string_view json, const std::string& file,
                                   KinetoDetail detail = KinetoDetail::kTimes);

}  // namespace understudy::et_schema
