#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/chakra/chakra.h"

namespace understudy::generator {

/// What a benchmark holds and a Chakra trace cannot hold, each with its name in outputs.
enum class ChakraLoss : std::size_t {
  kBodies,        ///< operators below an operator
  kValueRules,    ///< how contents are made
  kZeros,         ///< shares of zeros
  kSparse,        ///< elements of sparse tensors
  kWrapped,       ///< values of Python numbers
  kHeld,          ///< storages held beyond their last reader
  kState,         ///< an optimizer's state made in its first step
  kPinned,        ///< page-locked memory
  kUntouched,     ///< memory that no operator uses
  kHeapBlocks,    ///< what operators took from the heap
  kNativeInputs,  ///< what labels that did work took from around them
  kWaits,         ///< calls that waited for a device: they become edges
  kGroupNames,    ///< names of process groups: they become numbers
  kProfile,       ///< what is known of the profile besides times
  kCount
};
inline constexpr std::size_t kChakraLosses = static_cast<std::size_t>(ChakraLoss::kCount);

struct ChakraLossInfo {
  std::string_view name;     ///< key in outputs, snake_case
  std::string_view meaning;  ///< one sentence for a user
};
[[nodiscard]] const ChakraLossInfo& info(ChakraLoss loss);

/// Counts of one program.
[[nodiscard]] std::map<ChakraLoss, std::uint64_t> chakra_losses(const et_schema::Program& program);

struct ChakraJob {
  std::vector<et_schema::ChakraFile> files;  ///< one a rank, named PREFIX.R.et
  /// For ASTRA-sim's --comm-group-configuration: {"1":[0,1]}, without the default group.
  std::string comm_groups;
  std::map<ChakraLoss, std::uint64_t> left_out;  ///< over all ranks
};

/// The Chakra traces of a benchmark's ranks (docs/formats.md, "Chakra"). Each instruction has a
/// host node, followed by a device node if it launched something or communicates. Nodes depend on
/// each other by data flow, by order on threads, streams and in groups, and where the host waited
/// for a device. The time is linear in the program, apart from sorting the dependencies.
/// Deterministic.
[[nodiscard]] ChakraJob chakra_of(const et_schema::Bench& bench, const std::string& prefix);

}  // namespace understudy::generator
