#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// What a tensor holds of parameters that are sharded over ranks (FSDP, ZeRO).
enum class ShardRole : std::uint8_t {
  kOther,
  kPart,  ///< one rank's: the first dimension is divided
  kTable  ///< a whole as [ranks, parts]
};

/// A rank's part of parameters that are sharded over ranks (FSDP, ZeRO) becomes one of another
/// number of ranks. What is gathered keeps its size.
class Shards {
 public:
  /// `groups`: of the ranks that share parameters, `from` of them, `to` in the other job. The
  /// program must outlive this. Throws Error (bad input), by operator, where no rule says what it
  /// does with a part.
  Shards(const et_schema::Program& program, const std::set<et_schema::GroupId>& groups,
         std::int64_t from, std::int64_t to, int rank);

  /// Gives the program's tensors and the numbers among its arguments their new sizes.
  /// `position`: in the group, of the recorded rank and of the new one. Returns how many operators
  /// lost what was recorded below them, whose sizes no rule tells. Throws WorldDoesNotFit where
  /// ranks cannot share a part evenly.
  std::uint64_t apply(et_schema::Program& program, std::int64_t recorded_position,
                      std::int64_t position) const;

 private:
  /// The roles of the program's tensors: carried from what is gathered and scattered to all memory
  /// and all operators that hold a part, against the data flow too (shard_roles.cpp).
  void find_roles();
  void begin();
  void carry_on();
  [[nodiscard]] bool carry_by_memory();
  [[nodiscard]] bool carry(const et_schema::Instruction& instruction);
  [[nodiscard]] bool carry_columns(const et_schema::Instruction& instruction);
  [[nodiscard]] bool carry_pieces(const et_schema::Instruction& instruction);
  [[nodiscard]] bool carry_tables(const et_schema::Instruction& instruction);
  [[nodiscard]] bool set(et_schema::SlotId slot, ShardRole role);
  [[nodiscard]] bool set_all(const std::vector<et_schema::SlotId>& slots, ShardRole role);
  void check(const et_schema::Instruction& instruction) const;
  [[nodiscard]] bool keeps_parts(const et_schema::Instruction& instruction) const;
  [[nodiscard]] bool is_memory_of_wholes(et_schema::StorageId storage) const;
  [[nodiscard]] const et_schema::Slot* foreign(const et_schema::Instruction& instruction) const;
  [[nodiscard]] const et_schema::Slot* scattered(const et_schema::Instruction& instruction) const;

  /// A slot that the recorded program lacks has none.
  [[nodiscard]] ShardRole role_of(et_schema::SlotId slot) const {
    return slot < roles_.size() ? roles_[slot] : ShardRole::kOther;
  }
  /// Whether a tensor of the instruction has one.
  [[nodiscard]] bool concern(const et_schema::Instruction& instruction) const;
  /// Of an alias: whether it sees the memory of a part as something else.
  [[nodiscard]] bool leaves_part(const et_schema::Instruction& alias) const;
  /// Whether it makes memory in the sizes of a tensor that is no part.
  [[nodiscard]] bool makes_like_other(const et_schema::Instruction& instruction) const;

  [[nodiscard]] std::int64_t part_of(std::int64_t number, et_schema::SlotId slot) const;
  void resize(et_schema::Slot& slot, et_schema::SlotId id, std::int64_t recorded_position,
              std::int64_t position) const;
  void give_templates(et_schema::Program& program) const;
  void separate_memory(et_schema::Program& program) const;
  [[nodiscard]] std::int64_t move_wholes(et_schema::StorageId from, et_schema::StorageId to,
                                         et_schema::Program& program) const;
  std::uint64_t change(std::vector<et_schema::Instruction>& instructions,
                       const et_schema::Program& scaled, std::int64_t position) const;

  const et_schema::Program& program_;
  std::set<et_schema::GroupId> groups_;
  std::int64_t from_;
  std::int64_t to_;
  int rank_;
  std::vector<ShardRole> roles_;                           ///< by slot
  std::map<et_schema::StorageId, std::int64_t> in_place_;  ///< elements of a part gathered there
};

}  // namespace understudy::generator
