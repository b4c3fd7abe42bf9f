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
  kInputOnly,    ///< functional: the first argument is the input, the node's results the output
  kWaited,       ///< the first argument is waited for
  kNoTensors
};

/// A c10d operator, without namespace and trailing "_", and the name that record_param_comms gives
/// what it does.
struct C10dName {
  std::string_view c10d;
  std::string_view recorded;
  C10dLayout layout = C10dLayout::kNoTensors;
};

/// How the tensors of one call fit each other, and those of the group's other ranks.
enum class CommSizes : std::uint8_t {
  kPairs,           ///< output i is as large as input i; the same on all ranks
  kOutputPerRank,   ///< for each input an output from each rank, as large as that rank's input
  kInputPerRank,    ///< for each output an input to each rank, as large as that rank's output
  kOutputOfAll,     ///< output i holds all ranks' inputs i; the same on all ranks
  kInputOfAll,      ///< input i holds all ranks' outputs i; the same on all ranks
  kOutputsOfRoot,   ///< one input; on the root an output from each rank
  kInputsOfRoot,    ///< one output; on the root an input to each rank
  kEqualParts,      ///< one tensor each way, cut in equal parts; or a tensor to and from each rank
  kSplits,          ///< one tensor each way, cut by split sizes
  kMessage,         ///< any number of tensors, to or from one peer
  kNone,            ///< no tensors
  kNoCommunication  ///< nothing is sent: no backend is asked
};

/// Whose bytes are nccl-tests' size of a call.
enum class CommBytes : std::uint8_t { kInputs, kOutputs, kInputsOfAllRanks, kOutputsOfAllRanks };

/// nccl-tests' factor from algorithm to bus bandwidth, of n ranks.
enum class BusFactor : std::uint8_t {
  kOnce,     ///< 1
  kRing,     ///< (n - 1) / n
  kTwoRings  ///< 2 (n - 1) / n
};
[[nodiscard]] double value_of(BusFactor factor, int ranks);

/// How a kind's data moves between the ranks, as far as its time depends on it.
enum class CommPattern : std::uint8_t {
  kRing,      ///< from rank to rank, a part a step
  kTwoRings,  ///< there to be reduced, and back
  kTree,      ///< from one rank to all, or from all to one
  kExchange,  ///< between each two ranks, or the root and each
  kMessage,   ///< from one rank to one
  kNothing    ///< no data
};

/// All that is known of a kind of communication, apart from how backends do it. A kind without a
/// row does not compile. docs/design.md, "Where to add what", names what else takes a new kind.
struct CommTraits {
  CommKind kind;
  std::string_view type_name;  ///< in emitted programs; empty of what they have no call for
  std::array<std::string_view, 4> recorded;  ///< record_param_comms' names; the first is canonical
  std::array<C10dName, 7> c10d;              ///< both namespaces, c10d:: and _c10d_functional::
  /// Names in measurements of other tools (nccl-tests, PARAM), in lower case, letters alone.
  std::array<std::string_view, 3> measured;
  CommSizes sizes;
  CommBytes bytes;
  BusFactor bus;
  CommPattern pattern;
  bool reduces = false;   ///< combines elements by a reduction, which must be the same on all ranks
  bool has_root = false;  ///< which must be the same on all ranks
  bool in_step = false;   ///< ends on no rank before the last one has come: each needs a part of
                          ///< every other
};

[[nodiscard]] const CommTraits& traits(CommKind kind);

/// nccl-tests' size of a call that takes and gives so many bytes on a rank (CommTraits::bytes). At
/// most 2^63 - 1.
[[nodiscard]] std::int64_t size_of_call(CommKind kind, std::int64_t in_bytes,
                                        std::int64_t out_bytes, std::int64_t ranks);

/// A c10d operator's row and spelling. Null for an operator that is not known.
struct KnownC10d {
  const CommTraits* traits;
  const C10dName* name;
};
[[nodiscard]] std::optional<KnownC10d> find_c10d_name(std::string_view node_name);

/// The kind by its name in another tool's measurements, as CommTraits::measured has it.
[[nodiscard]] std::optional<CommKind> kind_of_measured_name(std::string_view name);

/// The kind by record_param_comms' own name.
[[nodiscard]] std::optional<CommKind> kind_of_recorded_name(std::string_view name);

/// Whether this variable of the environment tunes NCCL, so that a replay sets it as it was: its
/// algorithms, channels and buffers. The others name a host's interfaces, addresses and paths.
[[nodiscard]] bool tunes_nccl(std::string_view variable);
/// Whether a variable's value has no meaning elsewhere, and is nobody else's business: a variable
/// of NCCL that does not tune it.
[[nodiscard]] inline bool is_of_its_host(std::string_view variable) {
  return variable.starts_with("NCCL_") && !tunes_nccl(variable);
}

}  // namespace understudy::et_schema
