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
  kDevice,   ///< what a host node launched
  kComm,     ///< communication that no host node issued: a size, and no tensors
  kTimeOnly  ///< a time, and nothing else
};

/// What each node of a Chakra file is to an execution trace.
struct ChakraRoles {
  std::vector<std::uint32_t> in_order;  ///< positions in ChakraFile::nodes by id
  std::vector<ChakraRole> role;         ///< by position
  std::vector<std::uint32_t> launcher;  ///< by position, of kDevice: its host node's
  std::vector<std::uint32_t> whole;   ///< by position: the first part of the operator it is part of
  std::vector<bool> is_cut;           ///< by position: the first of several parts
  std::vector<std::uint32_t> parent;  ///< by position, of kHost: kNoPosition without one
};
inline constexpr std::uint32_t kNoPosition = 0xffffffffU;

/// Tells roles by attributes and dependencies, and counts what cannot be used. Throws Error (bad
/// input): two nodes of one id, a node that needs its own data.
[[nodiscard]] ChakraRoles find_chakra_roles(const ChakraFile& file, Losses& losses);

/// "aten::mm(2)" → "aten::mm": the name without the number of a part.
[[nodiscard]] std::string_view without_part(std::string_view name);

/// "node 7" and its byte, for the field of an error.
[[nodiscard]] std::string chakra_place(const ChakraNode& node, std::string_view field);

}  // namespace understudy::et_schema
