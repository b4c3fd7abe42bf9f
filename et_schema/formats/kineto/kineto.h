#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Kineto's categories that matter for time; others keep their text.
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

/// An operator's argument as record_shapes writes it.
struct KinetoArgument {
  std::string_view type;   ///< "Input type": "float", "c10::BFloat16", "Scalar", "ScalarList",
                           ///< "TensorList", "GenericList"; empty: absent, or no type that it tells
  std::string_view value;  ///< "Concrete Inputs": "1", "[16, 16]"; empty for tensors and texts
  std::span<const KinetoLayout> layouts;  ///< "Input Dims" and "Input Strides": one of a tensor,
                                          ///< one for each of a list. Others have one without sizes
};

/// One complete event ("ph": "X", or a "B" with its "E").
struct KinetoEvent {
  std::string_view name;  ///< as Kineto's sanitiser left it, so not a reliable key
  std::string_view category_text;
  KinetoCategory category = KinetoCategory::kOther;
  std::int64_t ts_ns = 0;   ///< since the epoch, or since the machine's start: see base_time_ns
  std::int64_t dur_ns = 0;  ///< < 0: damaged or, of a device's event, not told
  std::int64_t pid = -1;    ///< process; for device events the device; -1: no number ("Spans")
  std::int64_t tid = -1;    ///< OS thread; for device events the stream; -1: no number
  std::int64_t external_id = -1;  ///< -1: none. Old device events carry their correlation here
  std::int64_t rf_id = -1;        ///< "Record function id": a trace node's rf_id; -1: none
  std::int64_t correlation = -1;
  std::int64_t stream = -1;
  std::int64_t device = -1;
  std::int64_t wait_stream = -1;  ///< cuda_sync: "wait_on_stream", where the event was recorded
  std::int64_t record_correlation = -1;  ///< "wait_on_cuda_event_record_corr_id", of that call
  std::int64_t sequence = -1;            ///< "Sequence number"
  std::int64_t bytes = -1;               ///< of copies and sets
  std::int64_t page_faults = -1;         ///< of an operator and all below it; -1: not counted
  std::string_view shape = {};  ///< as JSON, where KinetoDetail asks for it: a kernel's "grid" and
                                ///< "block", an operator's "Input Dims"; empty: not told
  // Of operators, where KinetoDetail asks for arguments:
  std::span<const KinetoArgument> arguments = {};
  std::int64_t forward_thread = 0;  ///< "Fwd thread id", PyTorch's own number; 0: not of a backward
  std::string_view kernel_backend = {};  ///< "triton"
  std::string_view kernel_file = {};
};

/// A kernel, a copy or a memset: what a call of the host launched on a device.
[[nodiscard]] constexpr bool is_device_work(const KinetoEvent& event) {
  return event.category == KinetoCategory::kKernel ||
         event.category == KinetoCategory::kGpuMemcpy ||
         event.category == KinetoCategory::kGpuMemset;
}

/// The details that are read in addition to what every reader needs; each level has those before
/// it.
enum class KinetoDetail : std::uint8_t { kTimes, kShapes, kArguments };

/// What a kernel, or record_param_comms on the host, says about its communication; -1 and empty:
/// not told.
struct KinetoComm {
  std::size_t event = 0;                ///< position in Profile::events
  std::string_view name;                ///< "Collective name", record_param_comms' own: "allreduce"
  std::string_view dtype;               ///< "Float"
  std::int64_t in_elements = -1;        ///< "In msg nelems"
  std::int64_t out_elements = -1;       ///< "Out msg nelems"
  std::int64_t ranks_in_group = -1;     ///< "Group size"
  std::string_view group;               ///< "Process Group Name"
  std::string_view ranks;               ///< "Process Group Ranks": "[0, 1]", more than 30 cut short
  std::string_view group_description;   ///< "Process Group Description"
  std::string_view in_splits;           ///< "In split size": "[1, 2]"
  std::string_view out_splits;          ///< "Out split size"
  std::int64_t global_rank_start = -1;  ///< "Global rank start"
  std::int64_t global_rank_stride = -1;  ///< "Global rank stride"
  std::int64_t rank = -1;      ///< "Rank": the root or, of a message, the peer in its group
  std::int64_t sequence = -1;  ///< "Seq", which a wait has of its collective
};

/// An allocation or, with a negative size, a free, as profile_memory records them.
struct KinetoMemory {
  std::int64_t ts_ns = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  bool on_cpu = true;
  std::int64_t allocated_bytes = -1;  ///< "Total Allocated", on that device after it; -1: not told
};

struct KinetoDevice {
  std::int64_t id = 0;
  std::string name;
};

/// "distributedInfo", written by jobs of several ranks.
struct DistributedInfo {
  std::string backend;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  std::vector<ProcessGroup> groups;
};

/// A Kineto chrome trace: complete events in the file's order, which is not that of time. Flow,
/// metadata and instant events other than memory's are skipped, and so are frames of Python, nine
/// of ten events if stacks were recorded. Move-only: it owns what its views show.
struct Profile {
  std::string file;
  std::int64_t schema_version = 0;
  std::int64_t base_time_ns = 0;  ///< already added to every ts_ns; 0 in files up to early 2024
  std::uint64_t content_hash = 0;
  std::uint64_t content_bytes = 0;
  std::optional<DistributedInfo> distributed;
  std::vector<KinetoDevice> devices;
  std::vector<KinetoEvent> events;
  std::vector<KinetoComm> comms;       ///< of kernels, in the file's order
  std::vector<KinetoComm> host_comms;  ///< of operators, where KinetoDetail asks
  std::vector<KinetoMemory> memory;    ///< in the file's order
  Losses losses;

  /// The name of the device that events are of by their pid; empty: not told. ROCm's profiles
  /// number GPUs behind the machine's CPUs in events and by themselves in "deviceProperties": where
  /// all have one name, it is that.
  [[nodiscard]] std::string device_name(std::int64_t pid) const;

  /// Holds the events' texts.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena;
};

/// Reads a Kineto chrome trace, an object or the list of its events alone, with times of either
/// kind: whole microseconds, or three decimals relative to baseTimeNanoseconds. Times in the result
/// are whole nanoseconds (exact up to 2^43 µs after the base). Damage is repaired as in
/// parse_trace(). `json` is the uncompressed file and not kept; `file` names it in errors. Throws
/// Error (bad input): not JSON, an execution trace or something else, several in one or of several
/// processes, no events, numbers that overflow, values nested too deep. Linear in the input's size.
[[nodiscard]] Profile parse_kineto(std::string_view json, const std::string& file,
                                   KinetoDetail detail = KinetoDetail::kTimes);

}  // namespace understudy::et_schema
