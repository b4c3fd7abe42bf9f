#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

enum class ChakraRole : std::uint8_t {
  kHost,     ///< an operator or label
  kDevice,   ///< work that a host node launched
  kComm,     ///< communication without a host node: a size, and no tensors
  kWork,     ///< of a simulator's file: computes for a time, with dependencies
  kTimeOnly  ///< only a time
};

/// The role of each node of a Chakra file in the execution trace.
struct ChakraRoles {
  std::vector<std::uint32_t> in_order;  ///< indices into ChakraFile::nodes, ordered by id
  std::vector<ChakraRole> role;         ///< by position
  std::vector<std::uint32_t> launcher;  ///< by position; for kDevice: the position of its host node
  std::vector<std::uint32_t> whole;     ///< by position: the first part of the node's operator
  std::vector<bool> is_cut;             ///< by position: true for the first of several parts
  std::vector<std::uint32_t> parent;    ///< by position, for kHost; kNoPosition if none
};
inline constexpr std::uint32_t kNoPosition = 0xffffffffU;

/// Infers roles from attributes and dependencies, and counts unusable nodes. Throws Error (bad
/// input) if two nodes have the same id, or a node depends on itself.
[[nodiscard]] ChakraRoles find_chakra_roles(const ChakraFile& file, Losses& losses);

/// Removes the number of a part: "aten::mm(2)" → "aten::mm".
[[nodiscard]] std::string_view without_part(std::string_view name);

/// Returns an error's field: "`field` of the node at byte N".
[[nodiscard]] std::string chakra_place(const ChakraNode& node, std::string_view field);

}  // namespace understudy::et_schema
