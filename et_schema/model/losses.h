#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Each thing in an input that did not reach the output as it was, or had to be repaired on the
/// way. The table in losses.cpp holds each one's name in reports and its sentence in
/// docs/formats.md.
enum class Loss : std::size_t {
  // reading a trace
  kRepairedCommas,     ///< commas that were missing or trailing
  kRepairedNames,      ///< node names with unescaped quotes, newlines or backslashes
  kEscapedNames,       ///< names with control characters: written as \u001b
  kTruncatedFiles,     ///< files cut off before their end
  kTruncatedNodes,     ///< nodes that the cut lost in part: not read
  kMadeUpThreadRoots,  ///< thread roots the file lacks, made up by thread id
  kOrphanNodes,        ///< nodes whose parent is not in the file: hung from their thread's root
  kTruncatedLists,     ///< lists of 4,097 elements: the observer cuts there without a mark
  kPlaceholderValues,  ///< arguments recorded as <Tag> only: generator, stream, storage, object
  kLostDoubles,        ///< epsilons recorded as 0.0 (six decimals): set to the operator's default
  kUnknownDtypes,      ///< tensors of a dtype that is not known here
  kCutProcessGroups,   ///< process-group lists cut at 8,192 characters: read up to the cut
  // making a trace of a profile
  kUnshapedOperators,  ///< operators without recorded shapes: labels
  kUnmatchedSchemas,   ///< operators that no public schema fits: opened
  kUnknownResults,     ///< operators whose results nothing tells: opened
  kOpenedCasts,        ///< operators that autocast calls again with other types: opened
  kAssumedArguments,   ///< texts and lists that the profile leaves out: the schema's default
  kInferredTensors,    ///< arguments that several tensors could be: the likeliest one
  kExternalTensors,    ///< arguments that no tensor of the profile could be: made before the step
  kUnpairedEvents,     ///< begins and ends of a profile's events without the other one
  kDamagedTimes,       ///< events that end before they begin, or overlap others of their thread
  // compiling a program
  kReusedAddresses,       ///< reads that are another tensor at a reused address
  kAliases,               ///< views made outside of the dispatcher: rebuilt with as_strided
  kGraphAllocations,      ///< memory that compiled graphs allocated, which no operator shows
  kUnmatchedWaits,        ///< waits whose collective was issued before the capture
  kAssumedProcessGroups,  ///< collectives whose group the trace does not say: taken as the world
  kAssumedPeers,          ///< roots and peers that a profile does not tell
  kRepairedPeers,         ///< peers of messages that were recorded as another kind of rank
  kRepairedBatches,       ///< single messages that meet one of a batch: made batches of one
  kAssumedSplits,         ///< all_to_allv whose splits are not recorded: taken as equal
  kUnknownCommunication,  ///< calls of communication whose name is not known: not replayed
  kUnseenCommunication,   ///< launches of communication's kernels that no call of it shows
  kAssumedReduceOps,      ///< reductions whose operator is not recorded: taken as sum
  kMadeMasks,             ///< masks whose count decides a shape: made with the recorded count
  kNativeWork,            ///< labels without operators that did work (native instructions)
  kUnshownGraphs,         ///< compiled graphs whose kernels neither trace nor profile shows
  kPassThroughLabels,     ///< autograd functions whose backward hands its gradient on: no work
  kNodesOutsideStep,      ///< operators of the trace outside of the chosen step
  kFilteredOperators,     ///< operators that --only, --include, --exclude or --subgraph left out
  kWrapperBookkeeping,    ///< operators on wrappers that called nothing: no work
  // linking a profile
  kRepairedParents,       ///< nodes whose parent the profile's intervals show to be another one
  kUnjoinedNodes,         ///< nodes of the step without an event in the profile: no times
  kUnjoinedEvents,        ///< operators of a profiled step without a node in the trace
  kDissimilarSteps,       ///< profiled steps that called other operators: no times from them
  kUnlinkedDeviceEvents,  ///< device events that no operator can be told to have launched
  kLinkedByExternalId,    ///< device events whose operator is told by "External id" alone
  kUnlinkedFaultCounts,   ///< profiles that counted page faults in steps that took another way
  kOtherRegions,          ///< compiled regions or graphs of the trace or the profile alone
  kUnknownSparse,         ///< sparse tensors of before the step of which nothing is recorded
  kUnjoinedIndices,       ///< recorded uses of indices that no call of the trace matches
  kUnlinkedProfile,       ///< profiles without the observer whose steps took another way
  kAssumedLayouts,        ///< tensors of before the step without strides: taken as contiguous
  kNoDeviceEvents,        ///< profiles without device events of a step on a device
  kUnknownDeviceEvents,   ///< events on a device of a category that is not known here
  kCutOffSamples,         ///< operators of a profiled step whose kernels' events are not all there
  kUngraphedEvents,       ///< device events of the eager step that its graphed run lacks
  kGraphOnlyEvents,       ///< device events of a graphed run that the eager step lacks
  kMissingRanks,          ///< ranks of the job that are not in the benchmark
  kOtherSteps,            ///< ranks whose step has another name than the first one's
  kForeignRanks,          ///< ranks of another capture or job than the first one
  // reading a Chakra trace
  kDanglingEdges,      ///< dependencies on nodes that the file lacks
  kStaleControlEdges,  ///< control dependencies of a file in which some cannot be parents
  kTimeOnlyNodes,      ///< nodes with a time and no operator
  kMadeUpBuffers,      ///< communication with a size and no tensors
  kAssumedStarts,      ///< durations without start times
  kCount
};

inline constexpr std::size_t kLossCount = static_cast<std::size_t>(Loss::kCount);

struct LossInfo {
  std::string_view name;     ///< key in reports, snake_case
  std::string_view meaning;  ///< one sentence for a user
};

[[nodiscard]] const LossInfo& info(Loss loss);

/// The loss counters of one rank. Zero counters are not listed in files.
class Losses {
 public:
  void add(Loss loss, std::uint64_t count = 1) { counts_[static_cast<std::size_t>(loss)] += count; }
  [[nodiscard]] std::uint64_t operator[](Loss loss) const {
    return counts_[static_cast<std::size_t>(loss)];
  }
  Losses& operator+=(const Losses& other);
  bool operator==(const Losses&) const = default;

  /// Name → count, without the zeros, in the order of names.
  [[nodiscard]] std::map<std::string, std::uint64_t> nonzero() const;
  /// Adds one counter by its name in files; false if there is no such name.
  bool add_by_name(std::string_view name, std::uint64_t count);

 private:
  std::array<std::uint64_t, kLossCount> counts_{};
};

}  // namespace understudy::et_schema
