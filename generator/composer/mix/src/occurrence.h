#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/composer/mix/piece.h"

namespace understudy::composer {

/// A piece in its place in a new program: its instructions with the new program's numbers.
struct Occurrence {
  std::vector<et_schema::Instruction> instructions;
  std::vector<et_schema::SlotId> inputs;  ///< of the piece, in the new program
  std::vector<et_schema::SlotId> outputs;
  /// Storages that are held until before an instruction of the occurrence, counted in it.
  std::vector<std::pair<et_schema::StorageId, std::size_t>> holds;
};

/// How an occurrence's tensors are made.
struct Binding {
  /// By input of the piece: the new program's slot that it takes. Absent: it is made.
  std::map<et_schema::SlotId, et_schema::SlotId> wired;
  /// Tensors from before the step that occurrences of one source have in common: slots of the
  /// origin → slots here, and storages. Null: its own.
  struct Shared {
    std::map<et_schema::SlotId, et_schema::SlotId> slots;
    std::map<et_schema::StorageId, et_schema::StorageId> storages;
  };
  Shared* shared = nullptr;
  std::function<et_schema::GroupId(et_schema::GroupId)> group;  ///< of the origin → here
};

/// Copies a piece into a program: its slots, storages and schemas. The instructions stay with the
/// occurrence until their order is known.
[[nodiscard]] Occurrence place_piece(const et_schema::Program& origin, const Piece& piece,
                                     const Binding& binding, et_schema::Program& into);

/// Whether a tensor can take another's place: type, sizes and strides.
[[nodiscard]] bool fits(const et_schema::Slot& from, const et_schema::Slot& to);

/// Bytes of a storage, from the first to behind the last.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// By storage of the origin: what a piece uses of it beside its inputs, as views of them.
[[nodiscard]] std::map<et_schema::StorageId, Span> spans_of_views(const et_schema::Program& origin,
                                                                  const Piece& piece);

/// Whether another tensor can take an input's place as far as the views of it go: none reaches
/// beyond it.
[[nodiscard]] bool holds_views(const et_schema::Slot& input,
                               const std::map<et_schema::StorageId, Span>& views);

/// Finds rules for tensors that are made before the step here though an instruction made them in
/// their origin. What had a rule keeps it.
void make_values(et_schema::Program& program);

}  // namespace understudy::composer
