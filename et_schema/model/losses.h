#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Each thing in an input that did not reach the output as it was, or had to be repaired on the
/// way. The table in losses.cpp holds each one's name in reports, its severity and its sentence in
/// docs/formats.md.
enum class Loss : std::size_t {
  // reading a trace
  kRepairedJson,       ///< missing or trailing commas, unescaped characters in names
  kEscapedNames,       ///< names with control characters: written as \u001b
  kTruncatedFiles,     ///< files cut off before their end
  kMissingNodes,       ///< thread roots, parents and dependencies that the file lacks
  kTruncatedLists,     ///< lists that the observer cuts
  kPlaceholderValues,  ///< arguments recorded as <Tag> only: generator, stream, storage, object
  kLostDoubles,        ///< epsilons recorded as 0.0 (six decimals): set to the operator's default
  kUnknownDtypes,      ///< tensors of a dtype that is not known here
  // making a trace of a profile
  kUnshapedOperators,  ///< operators without recorded shapes: labels
  kOpenedOperators,    ///< operators of which those below are replayed
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
  kAssumedCommunication,  ///< process groups, roots, peers and splits that are not recorded
  kAssumedReduceOps,      ///< reductions whose operator is not recorded: taken as sum
  kRepairedMessages,      ///< sends and receives that --repair changed
  kUnknownCommunication,  ///< communication that is not replayed
  kMadeMasks,             ///< masks whose count decides a shape: made with the recorded count
  kNativeWork,            ///< labels without operators that did work (native instructions)
  kUnshownGraphs,         ///< compiled graphs whose kernels neither trace nor profile shows
  kNoWork,                ///< labels and operators that did no work
  kNodesOutsideStep,      ///< operators of the trace outside of the chosen step
  kFilteredOperators,     ///< operators that --only, --include, --exclude or --subgraph left out
  // linking a profile
  kRepairedParents,       ///< nodes whose parent the profile's intervals show to be another one
  kUnjoinedNodes,         ///< operators of the step that only the trace or the profile has
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
  kGraphDifferences,      ///< device events that only the eager step or its graphed run has
  kMissingRanks,          ///< ranks of the job that are not in the benchmark
  kOtherSteps,            ///< ranks whose step has another name than the first one's
  kForeignRanks,          ///< ranks of another capture or job than the first one
  // reading a Chakra trace
  kStaleControlEdges,  ///< control dependencies of a file in which some cannot be parents
  kTimeOnlyNodes,      ///< nodes with a time and no operator
  kMadeUpBuffers,      ///< communication with a size and no tensors
  kAssumedStarts,      ///< durations without start times
  kCount
};

inline constexpr std::size_t kLossCount = static_cast<std::size_t>(Loss::kCount);

/// What a loss does to the benchmark.
enum class Severity : std::uint8_t {
  kInfo,  ///< nothing: the work and the times are the original's
  kLoss,  ///< some of the work or of the times is missing or assumed
  kError  ///< the benchmark may stand for another step than the original
};
/// "info", "loss" or "error".
[[nodiscard]] std::string_view to_string(Severity severity);

struct LossInfo {
  std::string_view name;  ///< key in reports, snake_case
  Severity severity;
  std::string_view meaning;  ///< one sentence for a user
};

[[nodiscard]] const LossInfo& info(Loss loss);
/// The loss by its name in files; empty if no loss has that name.
[[nodiscard]] std::optional<Loss> loss_from_string(std::string_view name);

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

 private:
  std::array<std::uint64_t, kLossCount> counts_{};
};

}  // namespace understudy::et_schema
