#include "et_schema/model/losses.h"

#include <algorithm>

#include "et_schema/base/assert.h"

namespace understudy::et_schema {
namespace {

// In the order of enum Loss.
constexpr std::array<LossInfo, kLossCount> kLossTable = {{
    {"repaired_json", Severity::kInfo,
     "Damaged JSON that the reader put right: commas that were missing or trailing, and names with "
     "unescaped quotes, newlines or backslashes."},
    {"escaped_names", Severity::kInfo,
     "Different names with control characters, written as \\u001b."},
    {"truncated_files", Severity::kError,
     "Files cut off before their end, read up to the last whole node."},
    {"missing_nodes", Severity::kLoss,
     "Nodes that the file lacks: thread roots are made up, nodes without a parent hang from their "
     "thread's root, dependencies are passed over."},
    {"truncated_lists", Severity::kLoss,
     "Lists that the observer cuts: at 4,097 elements without a mark, so more may be missing, and "
     "process groups at 8,192 characters, read up to the cut."},
    {"placeholder_values", Severity::kInfo,
     "Generators, streams and storages among arguments, of which a trace holds a tag alone: a "
     "replay has its own. A tensor that set_ puts on such a storage (a DataLoader does) is made "
     "before the run."},
    {"lost_doubles", Severity::kLoss,
     "Epsilons that the six decimals of the trace turned into 0.0, set to the operator's default."},
    {"unknown_dtypes", Severity::kLoss, "Tensors of an element type that is not known here."},
    {"unshaped_operators", Severity::kLoss,
     "Operators of a profile without recorded shapes: labels, whose time a stub takes. With "
     "record_shapes=True they are replayed."},
    {"opened_operators", Severity::kInfo,
     "Operators of a profile of which those below are replayed: no public schema fits their "
     "arguments, nothing tells their results, or autocast calls them again with other types."},
    {"assumed_arguments", Severity::kLoss,
     "Texts and lists that a profile leaves out, for which the schema's default stands; indices "
     "that operators compute of unknown numbers, drawn within their bounds; rules of values that "
     "no content could fulfil, replaced by the nearest that one can."},
    {"inferred_tensors", Severity::kLoss,
     "Arguments of a profile that several tensors of one layout could be; the likeliest is taken."},
    {"external_tensors", Severity::kInfo,
     "Tensors of a profile that none of its operators can have made; they exist before the step."},
    {"unpaired_events", Severity::kLoss,
     "Begins (B) and ends (E) of a profile's events without the other one on their thread; they "
     "are not read."},
    {"damaged_times", Severity::kLoss,
     "Events of a profile that end before they begin, taken to take no time, or overlap others of "
     "their thread, taken to follow them; durations on a device that run into the next event of "
     "their stream, clipped there."},
    {"reused_addresses", Severity::kInfo,
     "Reads that show another tensor at a reused address; taken as a tensor of its own."},
    {"aliases", Severity::kInfo, "Views made outside of the dispatcher, rebuilt with as_strided."},
    {"graph_allocations", Severity::kInfo,
     "Memory that compiled graphs allocated, which no operator shows: made with empty_strided, or "
     "as results of their kernels."},
    {"unmatched_waits", Severity::kInfo,
     "Waits whose collective was issued before the capture began."},
    {"assumed_communication", Severity::kLoss,
     "Calls of communication that are not recorded whole: a process group is taken as the whole "
     "world, a root as rank 0, a peer as the neighbour in a ring, splits (torchcomms) as equal "
     "parts; under torch's fake group, times are unknown, received contents drawn."},
    {"assumed_reduce_ops", Severity::kLoss,
     "Reductions whose operator is not recorded, taken as a sum."},
    {"repaired_messages", Severity::kInfo,
     "Sends and receives that were put right: a peer that was no rank of its group, or a single "
     "one that meets one of a batch (batch_isend_irecv)."},
    {"unknown_communication", Severity::kLoss,
     "Communication that is not replayed: calls of a name that is not known here; operators, "
     "labels and device events with kernels of communication that no recorded call shows (DeepEP, "
     "NVSHMEM, userbuffers, symmetric memory). The benchmark has the device time."},
    {"made_masks", Severity::kLoss,
     "Masks whose number of true elements decides a shape, made with the recorded number."},
    {"native_work", Severity::kLoss,
     "Labels without operators below them that did work, replayed through a substitute if known."},
    {"unshown_graphs", Severity::kLoss,
     "Compiled graphs whose kernels neither the trace nor the profile shows: dropped, with the "
     "time that no operator in them covers."},
    {"no_work", Severity::kInfo,
     "Labels and operators that did no work: autograd functions of Python whose backward only "
     "hands its gradient on, and operators on wrappers (torch.func, DTensor) that called none on "
     "memory."},
    {"nodes_outside_step", Severity::kInfo, "Operators of the trace outside of the chosen step."},
    {"filtered_operators", Severity::kInfo,
     "Operators left out by --only, --exclude or --subgraph."},
    {"repaired_parents", Severity::kInfo,
     "Nodes hung from another parent than recorded, which the profile's intervals show to be "
     "wrong."},
    {"unjoined_nodes", Severity::kLoss,
     "Operators of the step that only the trace has, which have no times, or only the profile."},
    {"dissimilar_steps", Severity::kLoss,
     "Profiled steps that called other operators than the traced one; no times are taken from "
     "them."},
    {"unlinked_device_events", Severity::kLoss,
     "Device events that no operator can be told to have launched; bench.et lists them by name."},
    {"linked_by_external_id", Severity::kInfo,
     "Device events whose launch the profile lacks, given to the operator that \"External id\" "
     "names."},
    {"unjoined_counters", Severity::kLoss,
     "Kernels with hardware counters that no launch of the step matches; these are unused."},
    {"unlinked_fault_counts", Severity::kLoss,
     "Profiles that counted page faults in steps that took another way; their counts are unused."},
    {"other_regions", Severity::kLoss,
     "Compiled regions and graphs, by name, that only one of trace and profile has."},
    {"unknown_sparse", Severity::kLoss,
     "Sparse tensors made before the step of which nothing is recorded; their elements are "
     "assumed."},
    {"unjoined_indices", Severity::kLoss,
     "Uses of indices whose record is left out, or that no call in the trace matches; drawn by "
     "rule."},
    {"unlinked_profile", Severity::kError,
     "Profiles without the observer whose steps took another way; times are the traced step's."},
    {"assumed_layouts", Severity::kLoss,
     "Tensors made before the step whose strides the trace (before 1.1.1) does not tell, taken as "
     "contiguous: one that was channels-last replays as another."},
    {"no_device_events", Severity::kError,
     "Profiles without a device event of a step whose tensors are on a device: all times are the "
     "host's."},
    {"unknown_device_events", Severity::kLoss,
     "Events on a device of a category that is not known here; their time is in no operator's."},
    {"cut_off_samples", Severity::kLoss,
     "Operators of profiled steps with a launched kernel whose event the profile lacks (it ended "
     "before the device did): their device time in that step is not used, unless no step has it "
     "all."},
    {"graph_differences", Severity::kLoss,
     "Device events that only the step or its graphed run has: the step's take no time, those of "
     "the graphed run stand in no instruction."},
    {"missing_ranks", Severity::kLoss,
     "Ranks of the job that the benchmark lacks (--allow-missing); each rank replays alone."},
    {"other_steps", Severity::kLoss,
     "Ranks whose step has another name than that of the first; --step chooses one of all ranks."},
    {"foreign_ranks", Severity::kError,
     "Ranks of another capture than the first (--allow-missing); each rank replays alone."},
    {"stale_control_edges", Severity::kInfo,
     "Control dependencies of a Chakra file in which some lead to later or device nodes: none of "
     "them is taken as a parent."},
    {"time_only_nodes", Severity::kLoss,
     "Nodes of a Chakra file that hold a time and no operator; they are not replayed."},
    {"made_up_buffers", Severity::kLoss,
     "Communication of a Chakra file that records a size and no tensors, given buffers of that "
     "size."},
    {"assumed_starts", Severity::kLoss,
     "Nodes of a Chakra file with a duration and no start time, taken to follow each other without "
     "gaps."},
}};

constexpr bool every_loss_is_described() {
  return std::ranges::none_of(kLossTable, [](const LossInfo& entry) {
    return entry.name.empty() || entry.meaning.empty();
  });
}
static_assert(every_loss_is_described(), "a Loss has no line in the table");

}  // namespace

const LossInfo& info(Loss loss) {
  const auto index = static_cast<std::size_t>(loss);
  UNDERSTUDY_ASSERT(index < kLossCount);
  return kLossTable[index];
}

std::optional<Loss> loss_from_string(std::string_view name) {
  const auto* const row = std::ranges::find(kLossTable, name, &LossInfo::name);
  return row == kLossTable.end() ? std::nullopt
                                 : std::optional(static_cast<Loss>(row - kLossTable.begin()));
}

std::string_view to_string(Severity severity) {
  return severity == Severity::kInfo ? "info" : severity == Severity::kLoss ? "loss" : "error";
}

Losses& Losses::operator+=(const Losses& other) {
  for (std::size_t i = 0; i < kLossCount; ++i) {
    counts_[i] += other.counts_[i];
  }
  return *this;
}

std::map<std::string, std::uint64_t> Losses::nonzero() const {
  std::map<std::string, std::uint64_t> result;
  for (std::size_t i = 0; i < kLossCount; ++i) {
    if (counts_[i] != 0) {
      result.emplace(kLossTable[i].name, counts_[i]);
    }
  }
  return result;
}

}  // namespace understudy::et_schema
