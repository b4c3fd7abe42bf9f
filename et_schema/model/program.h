#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "et_schema/facts/counters.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/recorded_device.h"
#include "et_schema/model/reuse.h"
#include "et_schema/model/trace.h"
#include "et_schema/model/value_rule.h"

namespace understudy::et_schema {

using SlotId = std::uint32_t;
using StorageId = std::uint32_t;
using SchemaId = std::uint32_t;
using GroupId = std::uint32_t;

/// Memory that one or more slots share: one lifetime of a storage in the trace.
struct Storage {
  Device device;           ///< as recorded
  std::int64_t bytes = 0;  ///< largest extent of any of its slots
  bool external = false;   ///< read before an instruction of the program writes it
  /// Index of the instruction before which the original released this storage. Set only if that is
  /// later than its last reader (a Python variable or a parameter's gradient kept it alive). The
  /// number of instructions: held until the step's end. At or below its maker's index: held into
  /// the next step and released there.
  std::optional<std::uint32_t> held_until = {};
  bool state = false;  ///< external, an optimizer's state: no instruction before the optimizer's
                       ///< step reads it
  /// Share of the elements that were zero in the original; 0: irrelevant. Set for an external whose
  /// zeros decide an operator's time, and for any storage that a logarithm reads.
  double zeros = 0;
  /// An external without slots: the total memory that the original held on the device throughout
  /// the step without any operator using it.
  bool untouched = false;
  bool pinned = false;  ///< external, and in page-locked memory of the host
  bool operator==(const Storage&) const = default;
};

/// Elements of a sparse tensor that is made before the run: their number, and a rule for the
/// indices of each dimension.
struct SparseContent {
  SparseLayout layout = SparseLayout::kCoo;
  std::int64_t elements = 0;
  bool coalesced = false;  ///< each index occurs once, in order; always true for csr and csc
  std::vector<ValueRule> indices;
  bool operator==(const SparseContent&) const = default;
};

/// A tensor value, numbered once: one layout of one storage.
struct Slot {
  StorageId storage = 0;
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> sizes;
  /// In elements; if not recorded, inferred from view operators, else contiguous.
  std::vector<std::int64_t> strides;
  bool strides_recorded = false;  ///< if false, a replay does not check them
  std::int64_t offset = 0;        ///< in elements
  bool external = false;          ///< made before the run, on the external storage
  bool wrapped_number = false;    ///< a Python scalar: a 0-dim tensor that does not promote types
  bool sparse = false;            ///< recorded without storage but with elements: sparse or opaque
  /// Content of externals, pinned results and results of kernels; absent: the dtype's default rule.
  std::optional<ValueRule> value;
  std::optional<SparseContent> content;  ///< of sparse externals; absent: they have no elements
  bool operator==(const Slot&) const = default;
};

/// One argument or result of an instruction.
struct Argument {
  struct None {
    bool operator==(const None&) const = default;
  };
  struct Undefined {
    bool operator==(const Undefined&) const = default;
  };  ///< an undefined tensor
  struct SlotRef {
    SlotId id = 0;
    bool operator==(const SlotRef&) const = default;
  };
  struct DeviceRef {
    Device device;
    bool operator==(const DeviceRef&) const = default;
  };
  struct Opaque {
    std::string tag;
    bool operator==(const Opaque&) const = default;
  };  ///< "Generator", "Stream"
  using List = std::vector<Argument>;
  std::variant<None, Undefined, SlotRef, bool, std::int64_t, double, std::string, DeviceRef, Opaque,
               List>
      value;
  bool operator==(const Argument&) const = default;
};

enum class InstructionKind : std::uint8_t {
  kOp,      ///< an operator, called through the dispatcher
  kAlias,   ///< results[0] = as_strided(args[0]) with the result slot's layout
  kNative,  ///< a label that did work: replayed through a substitute if one exists
  kCollective,
  kP2p,
  kWait,
  kKernel,  ///< of a compiled graph or hand-written, Triton or C++: launched if the program has its
            ///< machine code, else stubbed or dropped
  kMarker   ///< a step or an annotation: costs nothing
};
/// Converts between a kind and its name in files: "op", "alias", ….
[[nodiscard]] std::string_view to_string(InstructionKind kind);
[[nodiscard]] std::optional<InstructionKind> instruction_kind_from_string(std::string_view name);

/// Properties of a communication instruction, beside its tensors.
struct CommInfo {
  CommKind kind = CommKind::kBarrier;
  GroupId group = 0;
  std::int64_t root_or_peer = 0;  ///< group rank; for rooted collectives, send and recv
  /// Text for parse_reduction().
  std::string reduce_op = "sum";
  /// How the reduction was determined ("assumed", …); empty: it is recorded.
  std::string reduce_op_why = {};
  std::vector<std::int64_t> in_splits;
  std::vector<std::int64_t> out_splits;
  std::optional<std::int64_t> seq;
  std::optional<bool> is_async;
  /// Why the call counts as asynchronous although it was recorded as synchronous or without a wait:
  /// "stream of its own", "label of sharded data parallel". Why a wait exists that no node shows:
  /// "wait of a stream", "wait of the host". Empty: as recorded.
  std::string why = {};
  bool names_group = false;  ///< waits only: `group` is recorded; if false, it may be any group
  std::optional<bool> is_p2p = {};  ///< waits only, if recorded: true for a send or receive
  /// True if the call was issued in a batch. Sends and receives: unset if not recorded.
  /// Collectives: set only if true.
  std::optional<bool> in_batch = {};
  bool joins_batch = false;  ///< in the same batch as the preceding communication of its thread
  bool operator==(const CommInfo&) const = default;
};

/// Device time of kernels of one class.
struct KernelClassTime {
  std::string kernel_class;  ///< kernel_class(), in op_class.h
  std::int64_t ns = 0;
  bool operator==(const KernelClassTime&) const = default;
};
/// Sorted by class; each class occurs once. The proportions of the times show how a device time is
/// divided among classes; the times need not add up to it.
using KernelClassTimes = std::vector<KernelClassTime>;

/// When an instruction ran in the original and how long: medians over the profiled steps, without
/// the profiler's own cost (docs/metrics.md, "Recorded times").
struct Timing {
  std::int64_t start_ns = 0;  ///< issue time, since the step's start on the host
  /// Time on the issuing thread, callees included. If an opened operator is also run itself: only
  /// the time after the last of its parts.
  std::int64_t host_ns = 0;
  /// Host time from the end of the thread's preceding instruction (or the step's start) to this
  /// start.
  std::int64_t gap_ns = 0;
  std::int64_t device_ns = 0;               ///< Σ duration of the device events that it launched
  std::uint64_t launches = 0;               ///< number of those device events
  std::optional<std::int64_t> stream = {};  ///< of the first of those device events
  std::optional<std::int64_t> page_faults = {};  ///< on its thread; unset: not counted
  KernelClassTimes kernel_classes = {};          ///< device_ns by class
  bool operator==(const Timing&) const = default;
};

/// What is known of an instruction's device work where the step did not run.
struct Launched {
  std::uint64_t count = 0;                  ///< number of device events that it launched
  std::optional<std::int64_t> stream = {};  ///< of the first of them
  bool operator==(const Launched&) const = default;
};

/// Smallest recorded block. Smaller blocks reuse holes of the heap.
inline constexpr std::int64_t kLeastHeapBlockBytes = std::int64_t{64} << 10U;

/// Memory that an operator of the original allocated from the C library's heap.
struct HeapBlock {
  std::int64_t bytes = 0;
  std::uint64_t address = 0;  ///< offset from the lowest block in the profile
  bool operator==(const HeapBlock&) const = default;
};

/// Blocks of at least kLeastHeapBlockBytes by instruction index, in order, temporaries included.
/// The addresses are those of the profiled process: they are meaningless if instructions, their
/// sizes or their order change.
using HeapBlocksByInstruction = std::map<std::size_t, std::vector<HeapBlock>>;

/// Node id of instructions without a node in the trace.
inline constexpr std::uint64_t kNoNodeId = 0;

/// One action of a replay. `args` by kind:
/// - kOp, kKernel: the recorded arguments, in the recorded schema's order. Two texts follow for a
///   kernel that a capture labelled: the arguments' roles ("r w rw -", - for a number), then the
///   generated file (C++) or the launch (Triton, see launch_of()). Memory that was allocated for
///   the kernel is an undefined argument and one of the results;
/// - kAlias: one slot, whose storage the result shares;
/// - kCollective, kP2p: {list of input slots, list of output slots}, lists of lists flattened in
///   order; an in-place call has the same slots in both. Outputs exist before the call: `results`
///   is empty;
/// - kWait: the tensor that it waits for, if recorded (open_comms.h decides which calls it joins);
/// - kNative: {list of the label's recorded inputs, list of the recorded arguments of the forward
///   operator it belongs to (empty if unknown), list of the tensors that operators below the label
///   allocated}.
struct Instruction {
  InstructionKind kind = InstructionKind::kOp;
  std::uint64_t node_id = kNoNodeId;
  std::uint64_t thread = 1;
  std::string name;  ///< "aten::add.Tensor"; a label's or a collective's name
  /// kOp: the recorded schema's text. kNative: the schema of the forward operator whose arguments
  /// args[1] lists.
  std::optional<SchemaId> schema;
  std::vector<Argument> args;  ///< in the recorded schema's order
  std::vector<Argument> results;
  bool pinned = false;      ///< data-dependent results: consumers get tensors of the recorded shape
  bool recomputed = false;  ///< a forward operator that a backward pass ran again (checkpointing)
  std::optional<CommInfo> comm;           ///< of kCollective, kP2p, kWait
  std::optional<Timing> timing;           ///< set if a profile was linked; never set in a body
  std::optional<Launched> launched = {};  ///< in place of `timing` if the step did not run
  std::vector<Instruction> body;  ///< replaces the operator if it does not resolve; may be nested
  bool operator==(const Instruction&) const = default;
};

/// Returns the stream of an instruction's first device event; nothing if none is known.
[[nodiscard]] inline std::optional<std::int64_t> recorded_stream(const Instruction& instruction) {
  return instruction.timing     ? instruction.timing->stream
         : instruction.launched ? instruction.launched->stream
                                : std::nullopt;
}

/// An operator that selection opened: its children are replayed in its place.
struct Opened {
  std::string name;
  std::uint64_t count = 0;
  std::string reason;
  std::int64_t own_ns = 0;  ///< recorded time outside of its parts, which the benchmark lacks
  bool operator==(const Opened&) const = default;
};

/// The part of the trace that the program holds.
struct Selection {
  std::string step;  ///< "ProfilerStep#4", "all", or empty if the trace has no steps
  std::vector<std::string> filters;  ///< "--only compute", "--exclude ^aten::fill_"
  std::uint64_t operators = 0;       ///< selected; includes communication, not native labels
  std::uint64_t labels = 0;          ///< native instructions
  std::uint64_t rounds = 0;          ///< rounds until the selection reached a fixpoint
  std::vector<Opened> opened;
  bool operator==(const Selection&) const = default;
};

/// How nodes of a trace were matched with events of a profile.
enum class JoinKind : std::uint8_t {
  kRecordFunctionId,  ///< by "Record function id", which is a node's rf_id; names are checked
  kOrder,             ///< per thread, by start time; names are aligned
  kOwn                ///< the trace itself holds the times (Chakra, a profile alone)
};

/// "record function id", "order" or "own".
[[nodiscard]] std::string_view to_string(JoinKind join);

/// Why recorded time of a step belongs to no instruction.
enum class Outside : std::uint8_t {
  kOpened,       ///< opened operators themselves, and labels in them
  kWrapped,      ///< operators on a tensor class that Python dispatches again
  kNoMemory,     ///< operators whose tensors have no memory
  kFiltered,     ///< operators that a filter excluded
  kLabel,        ///< launched in a label, outside of any operator
  kGraphLaunch,  ///< launched as a whole graph, outside of any operator
  kUnlinked,     ///< no node of the trace is known to have launched it
  kUnseenComm    ///< communication without a recorded call; named by its launcher
};
inline constexpr std::size_t kOutsideCount = 8;

/// Returns "opened operators", "label without operator", …; see docs/formats.md.
[[nodiscard]] std::string_view to_string(Outside why);

/// Recorded time of a step that belongs to no instruction and to no recorded communication.
struct OutsideTime {
  Outside why = Outside::kOpened;
  std::string name;  ///< of the operator or label; empty if the reason suffices
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
  KernelClassTimes kernel_classes = {};  ///< device_ns by class
  bool operator==(const OutsideTime&) const = default;
};

/// Device events of one name whose launching operator is unknown.
struct LostDeviceEvents {
  std::string name;
  std::string reason;
  std::uint64_t count = 0;
  std::int64_t device_ns = 0;
  bool operator==(const LostDeviceEvents&) const = default;
};

/// RecordedProfile::observer_source if the capture measured the cost. Otherwise the cost is derived
/// from the profile, which shows only the cheapest events.
inline constexpr std::string_view kObserverMeasured = "measured at the capture";

/// A kernel, copy or memset of one of the original's steps.
struct DeviceWork {
  /// The instruction that launched the work, itself or by its callees. Unset: none did, for the
  /// reason `why`.
  std::optional<std::uint32_t> instruction = {};
  Outside why = Outside::kUnlinked;
  std::uint64_t thread = 0;    ///< Instruction::thread of its launch; 0: none or unknown
  std::int64_t launch_ns = 0;  ///< since the step's start on the host
  std::int64_t lag_ns = 0;     ///< from its launch to its start
  std::int64_t start_ns = 0;   ///< since the step's start, in the profile's own time
  std::int64_t device_ns = 0;
  std::int64_t stream = 0;
  [[nodiscard]] std::int64_t end_ns() const { return start_ns + device_ns; }
  bool operator==(const DeviceWork&) const = default;
};

/// A call of the original that blocked until device work finished: a synchronization, or a
/// synchronous copy.
struct DeviceWait {
  enum class For : std::uint8_t {
    kDevice,  ///< all work issued to the device
    kStream,  ///< work issued to a stream
    kEvent    ///< work issued before an event was recorded
  };
  std::int64_t start_ns = 0;  ///< since the step's start on the host
  std::int64_t host_ns = 0;   ///< duration on the host
  For waits_for = For::kDevice;
  std::int64_t own_ns = 0;   ///< part of host_ns that the call itself took
  bool is_inside = false;    ///< made by an instruction
  std::uint64_t thread = 0;  ///< Instruction::thread; 0: not a thread of instructions
  /// Index in Program::device_work of the last work waited for.
  std::optional<std::uint32_t> work = {};
  bool operator==(const DeviceWait&) const = default;
};

/// "device", "stream" or "event".
[[nodiscard]] std::string_view to_string(DeviceWait::For waits_for);

/// A call of the original that made a stream, or the host, wait for an event.
struct StreamWait {
  std::int64_t start_ns = 0;           ///< since the step's start on the host
  std::optional<std::int64_t> stream;  ///< waiting stream; unset: the host
  std::int64_t for_stream = 0;         ///< stream on which the event was recorded
  std::int64_t until_ns = 0;           ///< only work issued to for_stream before this time counts
  bool operator==(const StreamWait&) const = default;
};

/// Bounds of a step's duration.
struct StepInterval {
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;
  bool operator==(const StepInterval&) const = default;
};

/// The profile that a program's times come from, and how much of it was found in the trace.
struct RecordedProfile {
  std::string file;            ///< base name
  RecordedDevice device = {};  ///< the one that most work ran on
  /// Base name of the graphed run's profile if device times come from it; empty: from `file`.
  std::string graph_run = {};
  std::uint64_t bytes = 0;         ///< uncompressed
  std::uint64_t content_hash = 0;  ///< XXH3 of the uncompressed bytes
  JoinKind join = JoinKind::kRecordFunctionId;
  std::uint64_t steps = 1;       ///< profiled steps that the medians are over
  std::int64_t step_ns = 0;      ///< duration of the step on the host, observer cost removed
  std::int64_t length_ns = 0;    ///< of the step, device work included; 0: no device in the profile
  bool host_runs_ahead = false;  ///< steps begin while the device works on the preceding step
  /// Median duration of unobserved steps; unset if the capture does not have it.
  std::optional<std::int64_t> unprofiled_step_ns = {};
  /// Its 95 % interval; unset likewise, and for few steps.
  std::optional<StepInterval> unprofiled_interval = {};
  /// Duration of the profiled step on the host. Set if all recorded times were taken from it to an
  /// unprofiled step, which `step_ns` then is.
  std::optional<std::int64_t> profiled_step_ns = {};
  /// Page faults of an unprofiled step; unset if the capture does not have it.
  std::optional<std::int64_t> minor_faults = {};
  /// Page faults of a profiled step; unset likewise.
  std::optional<std::int64_t> profiled_minor_faults = {};
  double observer_ns_per_event = 0;  ///< profiler cost that was subtracted
  std::string observer_source;       ///< how that cost was determined
  std::uint64_t events = 0;          ///< operators and annotations in the profiled steps
  std::uint64_t nodes = 0;           ///< nodes of the trace's step
  std::uint64_t nodes_with_rf_id = 0;
  std::uint64_t nodes_joined = 0;
  std::uint64_t device_events = 0;
  std::uint64_t device_events_linked = 0;
  std::vector<LostDeviceEvents> lost;     ///< in order of names
  std::vector<OutsideTime> outside = {};  ///< by reason and name
  /// Σ host time of the instructions and of `outside`, without communication (docs/formats.md).
  std::int64_t operators_ns = 0;
  /// The same on the device: a step's whole device time, without communication.
  std::int64_t operators_device_ns = 0;
  /// Settings that decided which kernels ran, and environment variables; empty if the capture does
  /// not record them (docs/formats.md, "capture.json").
  std::map<std::string, std::string> kernel_settings = {};
  std::map<std::string, std::string> variables = {};
  /// Hardware counters of a step's kernels by the name of their instructions; kernels of none have
  /// the name "". Empty counters: only some of these kernels were counted.
  std::map<std::string, Counters> operator_counters = {};
  Counters counters = {};                     ///< of a step's process, by the capture
  std::vector<DeviceWait> device_waits = {};  ///< of the step in device_work, by start
  /// By start; empty if the profile does not show events.
  std::vector<StreamWait> stream_waits = {};
  bool operator==(const RecordedProfile&) const = default;
};

/// Returns the device waits that no instruction made.
[[nodiscard]] inline std::vector<DeviceWait> waits_between(const RecordedProfile& profile) {
  std::vector<DeviceWait> waits = profile.device_waits;
  std::erase_if(waits, [](const DeviceWait& wait) { return wait.is_inside; });
  return waits;
}

/// The benchmark of one rank: instructions in order of issue over numbered slots.
struct Program {
  std::vector<std::string> schemas;
  std::vector<Storage> storages;
  std::vector<Slot> slots;
  std::vector<Instruction> instructions;
  Selection selection;
  Losses losses;
  std::optional<RecordedProfile> profile;  ///< absent: no instruction has a timing
  /// Only instructions with a timing have lists, and only if the profile shows memory. No list is
  /// empty.
  HeapBlocksByInstruction heap_blocks = {};
  /// All device work of the step with the median length, ordered by launch.
  std::vector<DeviceWork> device_work = {};
  /// Machine code of the Triton kernels that instructions launch, by key; may lack some of them.
  std::vector<CompiledKernel> kernels = {};
  bool operator==(const Program&) const = default;
};

/// True if any of the program's memory was recorded on an accelerator.
[[nodiscard]] inline bool uses_accelerator(const Program& program) {
  return std::ranges::any_of(program.storages, is_accelerator, &Storage::device);
}

/// Returns an instruction's heap blocks; empty if the profile shows none.
[[nodiscard]] inline std::span<const HeapBlock> heap_blocks_of(const Program& program,
                                                               std::size_t instruction) {
  const auto found = program.heap_blocks.find(instruction);
  return found == program.heap_blocks.end() ? std::span<const HeapBlock>() : found->second;
}

/// Returns how a Triton kernel was launched (its last argument); empty if that was not recorded.
[[nodiscard]] inline std::optional<KernelLaunch> launch_of(const Instruction& instruction) {
  const auto* text = instruction.kind == InstructionKind::kKernel && !instruction.args.empty()
                         ? std::get_if<std::string>(&instruction.args.back().value)
                         : nullptr;
  return text == nullptr ? std::nullopt : kernel_launch(*text);
}

/// Calls visit(SlotId) for each slot among the arguments, lists included, in order.
template <typename Visitor>
void for_each_slot(const std::vector<Argument>& arguments, Visitor&& visit) {
  for (const Argument& argument : arguments) {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
      visit(slot->id);
    } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      for_each_slot(*list, visit);
    }
  }
}

[[nodiscard]] inline std::vector<SlotId> slots_in(const std::vector<Argument>& arguments) {
  std::vector<SlotId> slots;
  for_each_slot(arguments, [&slots](SlotId slot) { slots.push_back(slot); });
  return slots;
}

}  // namespace understudy::et_schema
