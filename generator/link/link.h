#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/observed_memory.h"

namespace understudy::generator {

/// When and how long a node ran, without the observer's cost: medians over the profiled steps.
struct NodeTimes {
  std::int64_t start_ns = 0;  ///< since the step's start
  std::int64_t host_ns = 0;   ///< including its children
  std::int64_t self_ns = 0;   ///< excluding its children
  std::int64_t device_ns =
      0;  ///< Σ duration of the device events that it and its children launched
  std::uint64_t launches = 0;
  std::optional<std::int64_t> stream = {};       ///< stream of the first of those device events
  std::optional<std::int64_t> page_faults = {};  ///< including its children, if faults were counted
  et_schema::KernelClassTimes kernel_classes = {};  ///< of device_ns
  /// True if it or a child copied from page-locked host memory.
  bool reads_pinned = false;
  /// True if sums include self_ns: the node is an operator or below one, and not a communication.
  bool is_summed = false;
  bool communicates = false;  ///< it or a node around it is a communication
};

/// Work of a device whose instruction is not yet known.
struct LaunchedWork {
  et_schema::DeviceWork work;
  et_schema::NodeIndex node = et_schema::kNoNode;  ///< the node that launched it
  bool communicates = false;                       ///< by the kernel's name
};

/// A kernel's launch in a step.
struct LaunchedKernel {
  et_schema::NodeIndex node = et_schema::kNoNode;  ///< the node that launched it
  std::string name;                                ///< kernel_base_name()
  et_schema::Counters counters = {};  ///< by our names, for one step; empty: not counted
};

/// The data of a profile, joined to the nodes of a trace.
struct Link {
  et_schema::RecordedProfile profile;
  std::vector<std::optional<NodeTimes>> nodes;  ///< by node; unset outside of the step
  std::vector<LaunchedWork> work;  ///< of the step of median length, in order of launch
  /// Kernels of that step, in order of launch; if the range profiler measured them, of all steps.
  std::vector<LaunchedKernel> kernels;
  et_schema::Losses losses;
  /// False if the step did not run: its times then mean nothing, only their order does.
  bool has_times = true;
  ObservedMemory memory;  ///< of the traced step itself; see observe_memory()
  /// As et_schema::CapturedRank::untouched_tensor_bytes.
  std::map<std::string, std::uint64_t> untouched_tensor_bytes;
};

/// Returns the time of device events that the node itself launched; 0 if the node has no times.
[[nodiscard]] std::int64_t own_device_ns(const et_schema::Trace& trace, const Link& link,
                                         et_schema::NodeIndex node);

/// Returns own_device_ns() by class of kernel.
[[nodiscard]] et_schema::KernelClassTimes own_kernel_classes(const et_schema::Trace& trace,
                                                             const Link& link,
                                                             et_schema::NodeIndex node);

struct LinkOptions {
  std::optional<std::string> step = {};  ///< step of the trace, as GenerateOptions::step
  std::optional<std::int64_t> unprofiled_step_ns = {};
  std::optional<et_schema::StepInterval> unprofiled_interval = {};
  /// The cost of recording one event, if it was measured; otherwise estimated from the profile.
  std::optional<double> observer_ns_per_event = {};
  double observer_ns_per_launch = 0;  ///< added for an event that launches device work
  /// Keeps the observer's cost in the times, unless it was measured.
  bool is_as_profiled = false;
  std::optional<std::int64_t> minor_faults = {};           ///< page faults of an unprofiled step
  std::optional<std::int64_t> profiled_minor_faults = {};  ///< of a step of the profile
  /// A profile of the same step launched as CUDA or HIP graphs, whose device times are used.
  const et_schema::Profile* graph_run = nullptr;
};

/// Joins the nodes of the trace's step with the events of a profile of the same program, joins
/// device events with the operators that launched them, and computes the nodes' times
/// (docs/design.md, "Link"). The profile may hold several steps, and may be of another run. The
/// time is n log n in the events.
///
/// Throws Error (bad input) if the profile is of another program, with the share that joined and
/// the first name that differs; Error (usage) if the step does not exist.
[[nodiscard]] Link link(const et_schema::Trace& trace, const et_schema::Profile& profile,
                        const LinkOptions& options = {});

/// Returns the link of a trace that holds its own times (Trace::own_times); empty if it holds none.
/// If the trace has no start times, nodes follow each other without gaps. Throws Error (usage) if
/// the step does not exist.
[[nodiscard]] std::optional<Link> link_own_times(const et_schema::Trace& trace,
                                                 const std::optional<std::string>& step = {});

/// Compares the compiled regions and graphs of the trace's step with those of a profile, by name.
/// Returns how many only one of them has (Loss::kOtherRegions). Throws Error (bad input) if only
/// one of them has any, because one ran compiled and the other eagerly.
[[nodiscard]] std::uint64_t compare_regions(const et_schema::Trace& trace,
                                            const et_schema::Profile& profile,
                                            const std::optional<std::string>& step = {});

/// Moves nodes below the parents that the profile of the same step shows, if the recorded parent
/// did not run around them. (Asynchronous Gloo work ends labels on other threads, and the observer
/// then assigns wrong parents.) Returns how many were repaired (Loss::kRepairedParents). Changes
/// nothing if the profile does not join by "Record function id".
std::uint64_t repair_parents(et_schema::Trace& trace, const et_schema::Profile& profile);

}  // namespace understudy::generator
