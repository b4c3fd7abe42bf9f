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

#include "et_schema/model/comms.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/reuse.h"
#include "et_schema/model/trace.h"
#include "et_schema/model/value_rule.h"

namespace understudy::et_schema {

using SlotId = std::uint32_t;
using StorageId = std::uint32_t;
using SchemaId = std::uint32_t;
using GroupId = std::uint32_t;

/// Memory that one or more slots alias: one storage lifetime of the trace.
struct Storage {
  Device device;           ///< as recorded
  std::int64_t bytes = 0;  ///< largest extent of any of its slots
  bool external = false;   ///< read before anything in the program wrote it
  /// The instruction before which the original let go of it, where that was later than behind its
  /// last reader: a variable of the program held it, or the gradient of a parameter. The number of
  /// instructions: until the step's end. At or below the instruction that makes it: it outlives the
  /// step, and goes in the next one.
  std::optional<std::uint32_t> held_until = {};
  bool state = false;  ///< external, and an optimizer's: no instruction before its step reads it
  /// The share of its elements that were zero in the original: of an external, where that decides
  /// how long an operator takes; of any that a logarithm is taken of. 0: it does not matter.
  double zeros = 0;
  /// External, and no slot lies in it: what the original's program holds on the device throughout
  /// and no operator meets, in sum.
  bool untouched = false;
  bool pinned = false;  ///< external, and in page-locked memory of the host
  bool operator==(const Storage&) const = default;
};

/// The elements of a sparse tensor that is made before the run: so many, at indices of which each
/// dimension has its own.
struct SparseContent {
  SparseLayout layout = SparseLayout::kCoo;
  std::int64_t elements = 0;
  bool coalesced = false;  ///< each place once, in order; always so of csr and csc
  std::vector<ValueRule> indices;
  bool operator==(const SparseContent&) const = default;
};

/// A tensor value, numbered once: one layout of one storage.
struct Slot {
  StorageId storage = 0;
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements; for traces without strides those told by
                                      ///< view operators, else contiguous
  bool strides_recorded = false;      ///< only then are they checked
  std::int64_t offset = 0;            ///< in elements
  bool external = false;              ///< made before the run, on the external storage
  bool wrapped_number = false;        ///< a Python scalar: a 0-dim tensor that does not promote
  bool sparse = false;  ///< recorded without storage but with elements: sparse or opaque
  std::optional<ValueRule>
      value;  ///< of externals, pinned results and results of kernels; absent: the dtype's default
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
  kNative,  ///< a label that did work: replayed through a substitute, where there is one
  kCollective,
  kP2p,
  kWait,
  kKernel,  ///< of a compiled graph or hand-written, Triton's or C++: launched where the program
            ///< has its machine code, else a stub holds its place, or it is dropped
  kMarker   ///< a step or an annotation: costs nothing
};
/// "op", "alias", …: its name in files, with the way back.
[[nodiscard]] std::string_view to_string(InstructionKind kind);
[[nodiscard]] std::optional<InstructionKind> instruction_kind_from_string(std::string_view name);

/// What a communication instruction needs beside its tensors.
struct CommInfo {
  CommKind kind = CommKind::kBarrier;
  GroupId group = 0;
  std::int64_t root_or_peer = 0;  ///< group rank; of rooted collectives, send and recv
  /// As parse_reduction() takes it.
  std::string reduce_op = "sum";
  /// How the reduction is known: "assumed", …; empty: it is recorded.
  std::string reduce_op_why = {};
  std::vector<std::int64_t> in_splits;
  std::vector<std::int64_t> out_splits;
  std::optional<std::int64_t> seq;
  std::optional<bool> is_async;
  /// Why it is asynchronous where the trace says that it was not, or has no wait: "stream of its
  /// own", "label of sharded data parallel"; of a wait that no node shows: "wait of a stream",
  /// "wait of the host". Empty: as recorded.
  std::string why = {};
  bool names_group = false;         ///< of a wait: `group` is recorded; else it may be any
  std::optional<bool> is_p2p = {};  ///< of a wait, where recorded: whether for a send or receive
  /// Whether it was issued in a batch: of a send or receive where recorded, of a collective if so.
  std::optional<bool> in_batch = {};
  bool joins_batch = false;  ///< it is in the batch of the one before it on its thread
  bool operator==(const CommInfo&) const = default;
};

/// When an instruction ran in the original and how long, from its profile. Medians over the
/// profiled steps; the profiler's own cost is taken out (docs/metrics.md, "Recorded times").
/// Device time of kernels of one class.
struct KernelClassTime {
  std::string kernel_class;  ///< kernel_class(), in op_class.h
  std::int64_t ns = 0;
  bool operator==(const KernelClassTime&) const = default;
};
/// In order of classes, each once. How a device time is shared by them: the sum need not be it.
using KernelClassTimes = std::vector<KernelClassTime>;

struct Timing {
  std::int64_t start_ns = 0;  ///< its issue, since the step's start on the host
  std::int64_t host_ns = 0;   ///< on the issuing thread, all below it included. Of an operator that
                              ///< was opened and runs too: what came after the last of its parts
  std::int64_t gap_ns = 0;    ///< host time between the end of the instruction before it on its
                              ///< thread, or the step's start, and its start
  std::int64_t device_ns = 0;               ///< Σ duration of the device events that it launched
  std::uint64_t launches = 0;               ///< of those device events
  std::optional<std::int64_t> stream = {};  ///< of the first of them
  std::optional<std::int64_t> page_faults = {};  ///< on its thread, where they were counted
  KernelClassTimes kernel_classes = {};          ///< of device_ns
  bool operator==(const Timing&) const = default;
};

/// Smaller blocks lie in holes of the heap.
inline constexpr std::int64_t kLeastHeapBlockBytes = std::int64_t{64} << 10U;

/// Memory that an operator of the original took from the C library's heap.
struct HeapBlock {
  std::int64_t bytes = 0;
  std::uint64_t address = 0;  ///< above the lowest block that the profile shows
  bool operator==(const HeapBlock&) const = default;
};

/// By an instruction's index: its blocks of kLeastHeapBlockBytes and more, in order, its
/// temporaries among them. Places in the heap of the one process that was profiled: they mean
/// nothing where instructions, sizes or the order of instructions change.
using HeapBlocksByInstruction = std::map<std::size_t, std::vector<HeapBlock>>;

/// Of instructions that no node of the trace shows.
inline constexpr std::uint64_t kNoNodeId = 0;

/// One thing the replayer does. `args` by kind:
/// - kOp, kKernel: the recorded arguments, in the recorded schema's order; of a kernel that a
///   capture labelled two texts follow: the arguments' roles ("r w rw -", - for a number) and, of a
///   C++ kernel, the generated file, of Triton's its launch (launch_of()). Memory that was
///   allocated for the kernel is undefined among its arguments, and one of its results;
/// - kAlias: one slot, whose storage the result shares;
/// - kCollective, kP2p: {list of input slots, list of output slots}, lists of lists flattened in
///   order; an in-place call has the same slots in both. Outputs exist before the call: `results`
///   is empty;
/// - kWait: the tensor that it is recorded to wait for, if any (open_comms.h tells what it joins);
/// - kNative: {list of the label's recorded inputs, list of the recorded arguments of the forward
///   operator it belongs to (empty if unknown), list of the tensors that operators below the label
///   allocated}.
struct Instruction {
  InstructionKind kind = InstructionKind::kOp;
  std::uint64_t node_id = kNoNodeId;
  std::uint64_t thread = 1;
  std::string name;                ///< "aten::add.Tensor"; a label's or a collective's name
  std::optional<SchemaId> schema;  ///< of kOp: the recorded schema text; of kNative: that of the
                                   ///< forward operator whose arguments args[1] lists
  std::vector<Argument> args;      ///< in the recorded schema's order
  std::vector<Argument> results;
  bool pinned = false;  ///< data-dependent results: consumers get tensors of the recorded shape
  std::optional<CommInfo> comm;  ///< of kCollective, kP2p, kWait
  std::optional<Timing> timing;  ///< where a profile was linked; never of a body's instructions
  std::vector<Instruction>
      body;  ///< what replaces the operator where it does not resolve; may be nested
  bool operator==(const Instruction&) const = default;
};

/// An operator that selection opened: its children are replayed in its place.
struct Opened {
  std::string name;
  std::uint64_t count = 0;
  std::string reason;
  std::int64_t own_ns = 0;  ///< recorded time in none of its parts: what opening it leaves out
  bool operator==(const Opened&) const = default;
};

/// What of the trace the program holds.
struct Selection {
  std::string step;  ///< "ProfilerStep#4", "all", or empty where the trace has no steps
  std::vector<std::string> filters;  ///< "--only compute", "--exclude ^aten::fill_"
  std::uint64_t operators = 0;       ///< selected, communication included, labels that did work not
  std::uint64_t labels = 0;          ///< native instructions
  std::uint64_t rounds = 0;          ///< rounds to the fixpoint
  std::vector<Opened> opened;
  bool operator==(const Selection&) const = default;
};

/// How the nodes of a trace found their events in a profile.
enum class JoinKind : std::uint8_t {
  kRecordFunctionId,  ///< by "Record function id", which is a node's rf_id, with names checked
  kOrder,             ///< per thread in order of start, names aligned
  kOwn                ///< the trace itself holds the times (Chakra, a profile alone)
};

/// "record function id", "order" or "own".
[[nodiscard]] std::string_view to_string(JoinKind join);

/// Why recorded time of a step stands in no instruction.
enum class Outside : std::uint8_t {
  kOpened,       ///< of opened operators themselves, and of labels in them
  kWrapped,      ///< of operators on a class of tensors that Python dispatches again
  kNoMemory,     ///< of operators none of whose tensors has memory
  kFiltered,     ///< of operators that a filter left out
  kLabel,        ///< launched in a label, and in no operator
  kGraphLaunch,  ///< launched as a whole graph, in no operator
  kUnlinked,     ///< nothing of the trace can be told to have launched it
  kUnseenComm    ///< communication that no recorded call shows: by what launched it
};
inline constexpr std::size_t kOutsideCount = 8;

/// "opened operators", "label without operator", …: docs/formats.md.
[[nodiscard]] std::string_view to_string(Outside why);

/// Recorded time of a step that stands in no instruction and is no communication's.
struct OutsideTime {
  Outside why = Outside::kOpened;
  std::string name;  ///< of the operator or label; empty where the reason says it all
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
  KernelClassTimes kernel_classes = {};  ///< of device_ns
  bool operator==(const OutsideTime&) const = default;
};

/// Device events of one name that no operator can be told to have launched.
struct LostDeviceEvents {
  std::string name;
  std::string reason;
  std::uint64_t count = 0;
  std::int64_t device_ns = 0;
  bool operator==(const LostDeviceEvents&) const = default;
};

/// RecordedProfile::observer_source where the capture measured the cost; else it is read from the
/// profile, which shows the cheapest events only.
inline constexpr std::string_view kObserverMeasured = "measured at the capture";

/// A kernel, copy or memset of one of the original's steps.
struct DeviceWork {
  /// That launched it, with all below it; none: none did, for the reason `why`.
  std::optional<std::uint32_t> instruction = {};
  Outside why = Outside::kUnlinked;
  std::uint64_t thread = 0;    ///< Instruction::thread of its launch; 0: none, or none is known
  std::int64_t launch_ns = 0;  ///< since the step's start on the host
  std::int64_t lag_ns = 0;     ///< from its launch to its start
  std::int64_t start_ns = 0;   ///< since the step's start, in the profile's own time
  std::int64_t device_ns = 0;
  std::int64_t stream = 0;
  [[nodiscard]] std::int64_t end_ns() const { return start_ns + device_ns; }
  bool operator==(const DeviceWork&) const = default;
};

/// A call of the original that waited for its device: a synchronization, or a copy that returned
/// when it was done.
struct DeviceWait {
  enum class For : std::uint8_t {
    kDevice,  ///< all that was issued to the device
    kStream,  ///< what was issued to a stream
    kEvent    ///< what an event was recorded behind
  };
  std::int64_t start_ns = 0;  ///< since the step's start on the host
  std::int64_t host_ns = 0;   ///< for so long
  For waits_for = For::kDevice;
  std::int64_t own_ns = 0;                 ///< of host_ns, what the call took by itself
  bool is_inside = false;                  ///< an instruction made the call
  std::uint64_t thread = 0;                ///< Instruction::thread; 0: of no instruction's
  std::optional<std::uint32_t> work = {};  ///< in Program::device_work: the last that it waited for
  bool operator==(const DeviceWait&) const = default;
};

/// "device", "stream" or "event".
[[nodiscard]] std::string_view to_string(DeviceWait::For waits_for);

/// A call of the original that made a stream, or the host, wait for an event.
struct StreamWait {
  std::int64_t start_ns = 0;           ///< since the step's start on the host
  std::optional<std::int64_t> stream;  ///< that waits; none: the host
  std::int64_t for_stream = 0;         ///< on which the event was recorded
  std::int64_t until_ns = 0;           ///< for what the host had issued to it by then
  bool operator==(const StreamWait&) const = default;
};

/// The profile that the times of a program come from, and what of it was found in the trace.
struct RecordedProfile {
  std::string file;                ///< base name
  std::string graph_run = {};      ///< base name of the profile of graphs that device times are of;
                                   ///< empty: they are this one's
  std::uint64_t bytes = 0;         ///< uncompressed
  std::uint64_t content_hash = 0;  ///< XXH3 of the uncompressed bytes
  JoinKind join = JoinKind::kRecordFunctionId;
  std::uint64_t steps = 1;       ///< profiled steps that the medians are over
  std::int64_t step_ns = 0;      ///< duration of the step on the host, observer cost removed
  std::int64_t length_ns = 0;    ///< of the step, its device's work included; 0: it shows no device
  bool host_runs_ahead = false;  ///< steps begin while the device is at work on the one before
  std::optional<std::int64_t> unprofiled_step_ns = {};     ///< median of the steps that nothing
                                                           ///< observed, where the capture tells
  std::optional<std::int64_t> minor_faults = {};           ///< page faults of such a step, likewise
  std::optional<std::int64_t> profiled_minor_faults = {};  ///< of the profiled steps, likewise
  double observer_ns_per_event = 0;  ///< the profiler's cost that was taken out
  std::string observer_source;       ///< how that cost is known
  std::uint64_t events = 0;          ///< operators and annotations in the profiled steps
  std::uint64_t nodes = 0;           ///< nodes of the trace's step
  std::uint64_t nodes_with_rf_id = 0;
  std::uint64_t nodes_joined = 0;
  std::uint64_t device_events = 0;
  std::uint64_t device_events_linked = 0;
  std::vector<LostDeviceEvents> lost;     ///< in order of names
  std::vector<OutsideTime> outside = {};  ///< by reason and name
  std::int64_t operators_ns = 0;         ///< Σ host time of the instructions, communication apart,
                                         ///< and of what is outside of them (docs/formats.md)
  std::int64_t operators_device_ns = 0;  ///< the same on the device: all of a step's but
                                         ///< communication's
  /// What decided which kernels ran, and variables of the environment, where the capture tells
  /// (docs/formats.md, "capture.json").
  std::map<std::string, std::string> kernel_settings = {};
  std::map<std::string, std::string> variables = {};
  std::vector<DeviceWait> device_waits = {};  ///< of the step of device_work, in order of start
  std::vector<StreamWait> stream_waits = {};  ///< where the profile tells events, in order of start
  bool operator==(const RecordedProfile&) const = default;
};

/// Those that no instruction made.
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
  std::optional<RecordedProfile> profile;    ///< absent: no instruction has a timing
  HeapBlocksByInstruction heap_blocks = {};  ///< of instructions with a timing, where the profile
                                             ///< shows memory; none is empty
  /// All that the device did in the step of median length, in order of launches.
  std::vector<DeviceWork> device_work = {};
  /// Machine code of Triton's kernels that its instructions launch, in order of keys; others of
  /// them have none.
  std::vector<CompiledKernel> kernels = {};
  bool operator==(const Program&) const = default;
};

/// True if any of the program's memory was recorded on an accelerator.
[[nodiscard]] inline bool uses_accelerator(const Program& program) {
  return std::ranges::any_of(program.storages, is_accelerator, &Storage::device);
}

/// Nothing where the profile shows none.
[[nodiscard]] inline std::span<const HeapBlock> heap_blocks_of(const Program& program,
                                                               std::size_t instruction) {
  const auto found = program.heap_blocks.find(instruction);
  return found == program.heap_blocks.end() ? std::span<const HeapBlock>() : found->second;
}

/// How a kernel of Triton's was launched, where that was recorded: its last argument.
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

/// Those slots.
[[nodiscard]] inline std::vector<SlotId> slots_in(const std::vector<Argument>& arguments) {
  std::vector<SlotId> slots;
  for_each_slot(arguments, [&slots](SlotId slot) { slots.push_back(slot); });
  return slots;
}

}  // namespace understudy::et_schema
