#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/composer/mix/piece.h"

namespace understudy::composer {

/// A piece placed in a new program: its instructions with the new program's slots and schemas.
struct Occurrence {
  std::vector<et_schema::Instruction> instructions;
  /// Storages to hold, each with the index in `instructions` before which it is released.
  std::vector<std::pair<et_schema::StorageId, std::size_t>> holds;
};

/// How an occurrence's tensors are bound.
struct Binding {
  /// Tensors from before the step that the occurrences of one source share: the origin's slots →
  /// slots of the new program, and storages. Null if the occurrence has tensors of its own.
  struct Shared {
    std::map<et_schema::SlotId, et_schema::SlotId> slots;
    std::map<et_schema::StorageId, et_schema::StorageId> storages;
  };
  Shared* shared = nullptr;
  /// Group of the origin → group of the new job.
  std::function<et_schema::GroupId(et_schema::GroupId)> group;
};

/// Copies a piece's slots, storages and schemas into a program. The instructions stay with the
/// occurrence until their order is known.
[[nodiscard]] Occurrence place_piece(const et_schema::Program& origin, const Piece& piece,
                                     const Binding& binding, et_schema::Program& into);

/// Sets value rules of external tensors that an instruction of their origin made. Existing rules
/// are kept.
void make_values(et_schema::Program& program);

}  // namespace understudy::composer
