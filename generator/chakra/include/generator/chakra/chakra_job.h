#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/bench/bench.h"
#include "et_schema/chakra/chakra.h"

namespace understudy::generator {

/// What a benchmark holds and a Chakra trace cannot, each with its name in outputs.
enum class ChakraLoss : std::size_t {
  kBodies,        ///< operators below an operator
  kValueRules,    ///< how contents are made
  kZeros,         ///< shares of zeros
  kSparse,        ///< elements of sparse tensors
  kWrapped,       ///< values of Python numbers
  kHeld,          ///< storages held beyond their last reader
  kState,         ///< an optimizer's state made in its first step
  kPinned,        ///< page-locked memory
  kUntouched,     ///< memory that no operator meets
  kHeapBlocks,    ///< what operators took from the heap
  kNativeInputs,  ///< what labels that did work had from around them
  kWaits,         ///< calls that waited for a device: edges
  kGroupNames,    ///< names of process groups: numbers
  kProfile,       ///< what is known of the profile beside times
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
  /// ASTRA-sim's --comm-group-configuration: {"1":[0,1]}, the default group left out.
  std::string comm_groups;
  std::map<ChakraLoss, std::uint64_t> left_out;  ///< over all ranks
};

/// The Chakra traces of a benchmark's ranks (docs/formats.md, "Chakra"). A host node for each
/// instruction, a device node behind it where it launched something or communicates; dependencies
/// by data flow, by order on threads, streams and in groups, and where the host waited for a
/// device. Linear in the program but for sorting dependencies. Deterministic.
[[nodiscard]] ChakraJob chakra_of(const et_schema::Bench& bench, const std::string& prefix);

}  // namespace understudy::generator
