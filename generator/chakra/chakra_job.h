#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/device_time.h"

namespace understudy::generator {

/// Parts of a benchmark that a Chakra trace cannot hold; info() returns their names in outputs.
enum class ChakraLoss : std::size_t {
  kBodies,        ///< recorded operators below an operator
  kValueRules,    ///< how contents are generated
  kZeros,         ///< shares of zeros
  kSparse,        ///< elements of sparse tensors
  kWrapped,       ///< values of Python numbers
  kHeld,          ///< storages kept alive beyond their last reader
  kState,         ///< optimizer state that the first step creates
  kPinned,        ///< page-locked memory
  kUntouched,     ///< memory that no operator uses
  kHeapBlocks,    ///< heap memory that operators allocated
  kNativeInputs,  ///< arguments of the forward pass that labels with own work use
  kWaits,         ///< calls that waited for a device: kept only as edges
  kGroupNames,    ///< names of process groups: replaced by numbers
  kProfile,       ///< the profile's contents other than times
  kCount
};
inline constexpr std::size_t kChakraLosses = static_cast<std::size_t>(ChakraLoss::kCount);

struct ChakraLossInfo {
  std::string_view name;     ///< key in outputs, snake_case
  std::string_view meaning;  ///< one sentence for a user
};
[[nodiscard]] const ChakraLossInfo& info(ChakraLoss loss);

/// Counts the losses of one program.
[[nodiscard]] std::map<ChakraLoss, std::uint64_t> chakra_losses(const et_schema::Program& program);

struct ChakraJob {
  std::vector<et_schema::ChakraFile> files;  ///< one per rank, named PREFIX.R.et
  /// For ASTRA-sim's --comm-group-configuration: {"1":[0,1]}, without the default group.
  std::string comm_groups;
  std::map<ChakraLoss, std::uint64_t> left_out;  ///< summed over all ranks
  et_schema::Account account;                    ///< of the time that nodes have
};

/// Returns the Chakra traces of a benchmark's ranks (docs/formats.md, "Chakra"). Each instruction
/// has a host node, followed by a device node if it launched device work or communicates. Edges
/// between nodes are data flow, the order on threads, on streams and in groups, and the host's
/// waits for a device. Linear in the program, apart from sorting the dependencies. Deterministic.
[[nodiscard]] ChakraJob chakra_of(const et_schema::Bench& bench, const std::string& prefix);

}  // namespace understudy::generator
