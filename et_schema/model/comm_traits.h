#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/model/comms.h"

namespace understudy::et_schema {

/// How a c10d operator lays out its tensors.
enum class C10dLayout : std::uint8_t {
  kInPlace,      ///< the first argument is input and output
  kOutputInput,  ///< the first argument is the output, the second the input
  kInputOnly,    ///< functional: the first argument is the input, the node's results are the output
  kWaited,       ///< the first argument is waited for
  kNoTensors
};

/// A c10d operator, without namespace and trailing "_", and record_param_comms' name for its
/// communication.
struct C10dName {
  std::string_view c10d;
  std::string_view recorded;
  C10dLayout layout = C10dLayout::kNoTensors;
};

/// How the sizes of one call's tensors relate to each other and to those of the group's other
/// ranks.
enum class CommSizes : std::uint8_t {
  kPairs,           ///< output i is as large as input i; the same on all ranks
  kOutputPerRank,   ///< for each input an output from each rank, as large as that rank's input
  kInputPerRank,    ///< for each output an input to each rank, as large as that rank's output
  kOutputOfAll,     ///< output i holds all ranks' inputs i; the same on all ranks
  kInputOfAll,      ///< input i holds all ranks' outputs i; the same on all ranks
  kOutputsOfRoot,   ///< one input; the root also has an output from each rank
  kInputsOfRoot,    ///< one output; the root also has an input to each rank
  kEqualParts,      ///< one input and one output, cut in equal parts; or one of each for each rank
  kSplits,          ///< one input and one output, cut by split sizes
  kMessage,         ///< any number of tensors, to or from one peer
  kNone,            ///< no tensors
  kNoCommunication  ///< nothing is sent; backends are not called
};

/// The tensors whose bytes nccl-tests counts as the size of a call.
enum class CommBytes : std::uint8_t { kInputs, kOutputs, kInputsOfAllRanks, kOutputsOfAllRanks };

/// Bus bandwidth ÷ algorithm bandwidth for n ranks, as in nccl-tests.
enum class BusFactor : std::uint8_t {
  kOnce,     ///< 1
  kRing,     ///< (n - 1) / n
  kTwoRings  ///< 2 (n - 1) / n
};

/// How data moves between the ranks, as far as a communication's time depends on it. Neighbours
/// take similar times.
enum class CommPattern : std::uint8_t {
  kNothing,   ///< no data
  kTwoRings,  ///< one ring to reduce, one to distribute
  kRing,      ///< from rank to rank, one part per step
  kTree,      ///< from one rank to all, or from all to one
  kExchange,  ///< between every two ranks, or the root and each rank
  kMessage    ///< from one rank to one
};

/// Properties of a kind of communication that do not depend on the backend. A kind without a row
/// does not compile. docs/design.md, "Where to add what", lists what else a new kind needs.
struct CommTraits {
  CommKind kind;
  std::string_view type_name;                ///< in emitted programs; empty: not callable there
  std::array<std::string_view, 4> recorded;  ///< record_param_comms' names; the first is canonical
  std::array<C10dName, 7> c10d;              ///< both namespaces, c10d:: and _c10d_functional::
  /// Names in other tools' measurements (nccl-tests, PARAM), in lower case, letters only.
  std::array<std::string_view, 3> measured;
  CommSizes sizes;
  CommBytes bytes;
  BusFactor bus;
  CommPattern pattern;
  bool reduces = false;   ///< combines elements by a reduction, which must be the same on all ranks
  bool has_root = false;  ///< the root must be the same on all ranks
  bool in_step = false;  ///< no rank ends before the last one has begun: every rank needs a part of
                         ///< every other rank's input
};

[[nodiscard]] const CommTraits& traits(CommKind kind);

/// Returns the value of CommTraits::bus.
[[nodiscard]] double bus_factor(CommKind kind, int ranks);

/// Returns nccl-tests' size of a call with these bytes of inputs and outputs on one rank
/// (CommTraits::bytes); at most 2^63 - 1.
[[nodiscard]] std::int64_t size_of_call(CommKind kind, std::int64_t in_bytes,
                                        std::int64_t out_bytes, std::int64_t ranks);

/// A c10d operator's traits and spelling.
struct KnownC10d {
  const CommTraits* traits;
  const C10dName* name;
};
/// Returns nothing if the operator is unknown.
[[nodiscard]] std::optional<KnownC10d> find_c10d_name(std::string_view node_name);

/// Returns the kind of a name in any tool's spelling ("all_reduce", "AllReduce", "_allgather_base",
/// "alltoallv"): only letters are compared with CommTraits::measured.
[[nodiscard]] std::optional<CommKind> kind_of_measured_name(std::string_view name);

/// Returns the kind with this name in record_param_comms.
[[nodiscard]] std::optional<CommKind> kind_of_recorded_name(std::string_view name);

/// Returns true if this environment variable tunes NCCL (algorithms, channels, buffers), so that a
/// replay sets it as recorded. NCCL's other variables name a host's interfaces, addresses and
/// paths.
[[nodiscard]] bool tunes_nccl(std::string_view variable);
/// Returns true if a variable's value means nothing on other hosts and may be private: a variable
/// of NCCL that does not tune it.
[[nodiscard]] inline bool is_of_its_host(std::string_view variable) {
  return variable.starts_with("NCCL_") && !tunes_nccl(variable);
}

}  // namespace understudy::et_schema
