#pragma once

#include <cstdint>
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
  std::vector<et_schema::SlotId> inputs;  ///< the piece's inputs, as slots of the new program
  std::vector<et_schema::SlotId> outputs;
  /// Storages to hold, each with the index in `instructions` before which it is released.
  std::vector<std::pair<et_schema::StorageId, std::size_t>> holds;
};

/// How an occurrence's tensors are bound.
struct Binding {
  /// By input of the piece: the new program's slot that it binds to. Others become new.
  std::map<et_schema::SlotId, et_schema::SlotId> wired;
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

/// Returns true if one tensor can replace the other: equal type, sizes and strides.
[[nodiscard]] bool fits(const et_schema::Slot& from, const et_schema::Slot& to);

/// A range of bytes of a storage.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Returns, by storage of the origin, the byte range of the piece's tensors other than its inputs.
[[nodiscard]] std::map<et_schema::StorageId, Span> spans_of_views(const et_schema::Program& origin,
                                                                  const Piece& piece);

/// Returns true if all views of the input lie within it, so that another tensor can replace it.
[[nodiscard]] bool holds_views(const et_schema::Slot& input,
                               const std::map<et_schema::StorageId, Span>& views);

/// Sets value rules of external tensors that an instruction of their origin made. Existing rules
/// are kept.
void make_values(et_schema::Program& program);

}  // namespace understudy::composer
