#include "et_schema/model/losses.h"

#include <algorithm>

#include "et_schema/base/assert.h"

namespace understudy::et_schema {
namespace {

// In the order of enum Loss.
constexpr std::array<LossInfo, kLossCount> kLossTable = {{
    {"repaired_commas", "Commas that were missing or trailing; the reader put them right."},
    {"repaired_names",
     "Node names with unescaped quotes, newlines or backslashes; the reader escaped them."},
    {"escaped_names", "Different names with control characters, written as \\u001b."},
    {"truncated_files", "Files cut off before their end, read up to the last whole node."},
    {"truncated_nodes", "Nodes that the cut-off end lost in part; they are not read."},
    {"made_up_thread_roots", "Thread roots that the file lacks, made up by thread id."},
    {"orphan_nodes", "Nodes whose parent is not in the file, hung from their thread's root."},
    {"truncated_lists",
     "Lists of 4,097 elements: the observer cuts there without a mark, so more may be missing."},
    {"placeholder_values",
     "Generators, streams and storages among arguments, of which a trace holds a tag alone: a "
     "replay has its own. A tensor that set_ puts on such a storage (a DataLoader does) is made "
     "before the run."},
    {"lost_doubles",
     "Epsilons that the six decimals of the trace turned into 0.0, set to the operator's default."},
    {"unknown_dtypes", "Tensors of an element type that is not known here."},
    {"cut_process_groups",
     "Process-group lists that the observer cut at 8,192 characters, read up to the cut."},
    {"unshaped_operators",
     "Operators of a profile without recorded shapes: labels, whose time a stub takes. With "
     "record_shapes=True they are replayed."},
    {"unmatched_schemas",
     "Operators of a profile whose arguments no public schema fits: those below are replayed."},
    {"unknown_results",
     "Operators of a profile whose results nothing tells: those below are replayed."},
    {"opened_casts",
     "Operators of a profile that autocast calls again with other types: the inner is replayed."},
    {"assumed_arguments",
     "Texts and lists that a profile leaves out, for which the schema's default stands, and "
     "operators that compute indices of unknown numbers: these are drawn within their bounds."},
    {"inferred_tensors",
     "Arguments of a profile that several tensors of one layout could be; the likeliest is taken."},
    {"external_tensors",
     "Tensors of a profile that none of its operators can have made; they exist before the "
     "step."},
    {"unpaired_events",
     "Begins (B) and ends (E) of a profile's events without the other one on their thread; they "
     "are not read."},
    {"damaged_times",
     "Events of a profile that end before they begin, taken to take no time, or overlap others of "
     "their thread, taken to follow them; durations on a device that run into the next event of "
     "their stream, clipped there."},
    {"reused_addresses",
     "Reads that show another tensor at a reused address; taken as a tensor of its own."},
    {"aliases", "Views made outside of the dispatcher, rebuilt with as_strided."},
    {"graph_allocations",
     "Memory that compiled graphs allocated, which no operator shows: made with empty_strided, or "
     "as results of their kernels."},
    {"unmatched_waits", "Waits whose collective was issued before the capture began."},
    {"assumed_process_groups",
     "Collectives whose process group the trace does not say, taken as the whole world."},
    {"assumed_peers",
     "Roots and peers that a profile does not tell: rank 0, and the neighbours in a ring."},
    {"repaired_peers",
     "Peers of sends and receives that the trace gives as ranks of the job, or not at all; "
     "--repair "
     "made them ranks of their group."},
    {"repaired_batches",
     "Sends and receives that were issued alone and meet one of a batch (batch_isend_irecv); "
     "--repair made batches of them."},
    {"assumed_splits",
     "Uneven all-to-alls whose splits the trace does not hold (torchcomms), taken as equal parts."},
    {"unknown_communication",
     "Calls of communication of a name that is not known here: not replayed."},
    {"unseen_communication",
     "Operators and labels, or device events in none, with kernels of communication that no "
     "recorded "
     "call shows (DeepEP, NVSHMEM, userbuffers, symmetric memory): not replayed; the benchmark has "
     "their device time."},
    {"assumed_reduce_ops", "Reductions whose operator is not recorded, taken as a sum."},
    {"made_masks",
     "Masks whose number of true elements decides a shape, made with the recorded number."},
    {"native_work",
     "Labels without operators below them that did work, replayed through a substitute if known."},
    {"unshown_graphs",
     "Compiled graphs whose kernels neither the trace nor the profile shows: dropped, with the "
     "time that no operator in them covers."},
    {"pass_through_labels",
     "Autograd functions of Python whose backward only hands its gradient on: no work."},
    {"nodes_outside_step", "Operators of the trace outside of the chosen step."},
    {"filtered_operators", "Operators left out by --only, --include, --exclude or --subgraph."},
    {"wrapper_bookkeeping",
     "Operators on wrappers (torch.func, DTensor) that called none on memory: nothing to replay."},
    {"repaired_parents",
     "Nodes hung from another parent than recorded, which the profile's intervals show to be "
     "wrong."},
    {"unjoined_nodes", "Nodes of the step without an event in the profile; they have no times."},
    {"unjoined_events", "Operators of a profiled step without a node in the trace."},
    {"dissimilar_steps",
     "Profiled steps that called other operators than the traced one; no times are taken from "
     "them."},
    {"unlinked_device_events",
     "Device events that no operator can be told to have launched; bench.et lists them by name."},
    {"linked_by_external_id",
     "Device events whose launch the profile lacks, given to the operator that \"External id\" "
     "names."},
    {"unlinked_fault_counts",
     "Profiles that counted page faults in steps that took another way; their counts are unused."},
    {"other_regions",
     "Compiled regions and graphs, by name, that only one of trace and profile has."},
    {"unknown_sparse",
     "Sparse tensors made before the step of which nothing is recorded; their elements are "
     "assumed."},
    {"unjoined_indices",
     "Uses of indices whose record is left out, or that no call in the trace matches; drawn by "
     "rule."},
    {"unlinked_profile",
     "Profiles without the observer whose steps took another way; times are the traced step's."},
    {"assumed_layouts",
     "Tensors made before the step whose strides the trace (before 1.1.1) does not tell, taken as "
     "contiguous: one that was channels-last replays as another."},
    {"no_device_events",
     "Profiles without a device event of a step whose tensors are on a device: all times are the "
     "host's."},
    {"unknown_device_events",
     "Events on a device of a category that is not known here; their time is in no operator's."},
    {"cut_off_samples",
     "Operators of profiled steps with a launched kernel whose event the profile lacks (it ended "
     "before the device did): their device time in that step is not used, unless no step has it "
     "all."},
    {"ungraphed_events",
     "Device events of the step that its graphed run lacks: they take no time there."},
    {"graph_only_events",
     "Device events of the graphed run that the step lacks: their time stands in no instruction."},
    {"missing_ranks",
     "Ranks of the job that the benchmark lacks (--allow-partial); each rank replays alone."},
    {"other_steps",
     "Ranks whose step has another name than that of the first; --step chooses one of all ranks."},
    {"foreign_ranks",
     "Ranks of another capture than the first (--allow-partial); each rank replays alone."},
    {"dangling_edges",
     "Dependencies of a Chakra file on nodes that it lacks, passed over; nodes without their "
     "parent hang from the root."},
    {"stale_control_edges",
     "Control dependencies of a Chakra file in which some lead to later or device nodes: none of "
     "them is taken as a parent."},
    {"time_only_nodes",
     "Nodes of a Chakra file that hold a time and no operator; they are not replayed."},
    {"made_up_buffers",
     "Communication of a Chakra file that records a size and no tensors, given buffers of that "
     "size."},
    {"assumed_starts",
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

bool Losses::add_by_name(std::string_view name, std::uint64_t count) {
  for (std::size_t i = 0; i < kLossCount; ++i) {
    if (kLossTable[i].name == name) {
      counts_[i] += count;
      return true;
    }
  }
  return false;
}

}  // namespace understudy::et_schema
