#pragma once

#include <cstdint>
#include <set>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// What an instruction does with parts of sharded parameters.
enum class PartUse : std::uint8_t {
  kUnknown,
  kNothing,    ///< it asks, waits, or sums to numbers
  kByElement,  ///< tensors side by side have the same role
  kPieces,     ///< of a part, along the dimension that is divided; or out of a table
  kJoins,      ///< the other way
  kTables,     ///< all ranks' parts: out of a gathered whole, or into one to be scattered
  kCopiesIn,   ///< a part to where all are gathered
  kView,       ///< the same part, or the same of other memory
  kMakesLike   ///< memory of the first tensor's sizes
};

/// `groups`: whose ranks share the parameters. Operators that ATen does not have and no rule names
/// are unknown: their names do not tell what they do.
[[nodiscard]] PartUse part_use(const et_schema::Program& program,
                               const et_schema::Instruction& instruction,
                               const std::set<et_schema::GroupId>& groups);

}  // namespace understudy::generator
