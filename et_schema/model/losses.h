#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// The ways in which an input is not reproduced exactly or had to be repaired. The table in
/// losses.cpp holds each loss's name in reports, its severity and its sentence in docs/formats.md.
enum class Loss : std::size_t {
  // reading a trace
  kRepairedJson,       ///< missing or trailing commas, unescaped characters in names
  kEscapedNames,       ///< names with control characters: written as \u001b
  kTruncatedFiles,     ///< files cut off before their end
  kMissingNodes,       ///< thread roots, parents and dependencies that the file lacks
  kTruncatedLists,     ///< lists that the observer cut short
  kPlaceholderValues,  ///< arguments recorded as <Tag> only: generator, stream, storage, object
  kLostDoubles,        ///< epsilons recorded as 0.0 (six decimals): set to the operator's default
  kUnknownDtypes,      ///< tensors of an unknown dtype
  // making a trace of a profile
  kUnshapedOperators,  ///< operators without recorded shapes: treated as labels
  kOpenedOperators,    ///< operators replaced by the operators that they called
  kAssumedArguments,   ///< texts and lists missing in the profile: the schema's default
  kInferredTensors,    ///< arguments that match several tensors: the likeliest is used
  kExternalTensors,    ///< arguments that match no tensor of the profile: made before the step
  kUnpairedEvents,     ///< begin or end events of a profile without their counterpart
  kDamagedTimes,       ///< events that end before they begin, or overlap others of their thread
  // compiling a program
  kReusedAddresses,       ///< reads of another tensor at a reused address
  kAliases,               ///< views made outside of the dispatcher: rebuilt with as_strided
  kGraphAllocations,      ///< memory that compiled graphs allocated, which no operator shows
  kUnmatchedWaits,        ///< waits whose collective was issued before the capture
  kAssumedCommunication,  ///< process groups, roots, peers and splits that are not recorded
  kAssumedReduceOps,      ///< reductions whose operator is not recorded: taken as sum
  kRepairedMessages,      ///< sends and receives that generate put right
  kUnknownCommunication,  ///< communication that is not replayed
  kMadeMasks,             ///< masks whose count decides a shape: made with the recorded count
  kNativeWork,            ///< labels without operators that did work (native instructions)
  kUnshownGraphs,         ///< compiled graphs whose kernels are in neither trace nor profile
  kNoWork,                ///< labels and operators that did no work
  kNodesOutsideStep,      ///< operators of the trace outside of the chosen step
  kFilteredOperators,     ///< operators that --only, --exclude or --subgraph left out
  // linking a profile
  kRepairedParents,       ///< nodes whose parent was corrected by the profile's intervals
  kUnjoinedNodes,         ///< operators of the step that only the trace or only the profile has
  kDissimilarSteps,       ///< profiled steps with other operators than the trace's: times unused
  kUnlinkedDeviceEvents,  ///< device events whose launching operator is unknown
  kLinkedByExternalId,    ///< device events whose operator only "External id" shows
  kUnjoinedCounters,      ///< kernels with hardware counters that match no launch of the step
  kUnlinkedFaultCounts,   ///< profiles with page-fault counts whose steps differ from the trace's
  kOtherRegions,         ///< compiled regions or graphs that only the trace or only the profile has
  kUnknownSparse,        ///< sparse tensors made before the step without recorded content
  kUnjoinedIndices,      ///< recorded uses of indices that match no call of the trace
  kUnlinkedProfile,      ///< profiles without the observer, of other steps than the trace's
  kAssumedLayouts,       ///< tensors made before the step without strides: taken as contiguous
  kNoDeviceEvents,       ///< profiles without device events of a step that used a device
  kUnknownDeviceEvents,  ///< device events of an unknown category
  kCutOffSamples,        ///< operators of a profiled step that lack a launched kernel's event
  kGraphDifferences,     ///< device events that only the eager step or its graphed run has
  kMissingRanks,         ///< ranks of the job that are not in the benchmark
  kOtherSteps,           ///< ranks whose step has another name than the first rank's
  kForeignRanks,         ///< ranks of another capture or job than the first rank's
  // reading a Chakra trace
  kStaleControlEdges,  ///< unused control dependencies: some point to later or device nodes
  kTimeOnlyNodes,      ///< nodes with a time but no operator
  kMadeUpBuffers,      ///< communication with a size but no tensors
  kAssumedStarts,      ///< durations without start times
  kCount
};

inline constexpr std::size_t kLossCount = static_cast<std::size_t>(Loss::kCount);

/// A loss's effect on the benchmark.
enum class Severity : std::uint8_t {
  kInfo,  ///< none: the work and the times are the original's
  kLoss,  ///< some of the work or of the times is missing or assumed
  kError  ///< the benchmark may represent another step than the original
};
/// "info", "loss" or "error".
[[nodiscard]] std::string_view to_string(Severity severity);

struct LossInfo {
  std::string_view name;  ///< key in reports, snake_case
  Severity severity;
  std::string_view meaning;  ///< one sentence for a user
};

[[nodiscard]] const LossInfo& info(Loss loss);
/// Returns the loss with this name in files; empty if no loss has it.
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

  /// Returns name → count without zeros, ordered by name.
  [[nodiscard]] std::map<std::string, std::uint64_t> nonzero() const;

 private:
  std::array<std::uint64_t, kLossCount> counts_{};
};

}  // namespace understudy::et_schema
