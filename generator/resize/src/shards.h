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
  kPart,  ///< one rank's part: the first dimension is divided
  kTable  ///< all parts, as [ranks, part]
};

/// Resizes a rank's part of parameters that are sharded over ranks (FSDP, ZeRO) for another number
/// of ranks. Gathered tensors keep their size.
class Shards {
 public:
  /// `groups`: groups of the ranks that share parameters, `from` ranks as recorded, `to` in the new
  /// job. The program must outlive this. Throws Error (bad input) with the operator's name if no
  /// rule covers its use of a part.
  Shards(const et_schema::Program& program, const std::set<et_schema::GroupId>& groups,
         std::int64_t from, std::int64_t to, int rank);

  /// Sets the new sizes of the program's tensors and of the numbers among its arguments.
  /// `recorded_position` and `position`: place in the group of the recorded and the new rank.
  /// Returns how many operators lost their recorded body, for whose sizes there is no rule. Throws
  /// WorldDoesNotFit if ranks cannot share a part evenly.
  std::uint64_t apply(et_schema::Program& program, std::int64_t recorded_position,
                      std::int64_t position) const;

 private:
  /// Finds the roles of the program's tensors. Roles propagate from gathered and scattered tensors
  /// to all memory and operators that hold a part, also against the data flow (shard_roles.cpp).
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

  /// Slots that the recorded program lacks have kOther.
  [[nodiscard]] ShardRole role_of(et_schema::SlotId slot) const {
    return slot < roles_.size() ? roles_[slot] : ShardRole::kOther;
  }
  /// Returns true if a tensor of the instruction has a role other than kOther.
  [[nodiscard]] bool concern(const et_schema::Instruction& instruction) const;
  /// Returns true if an alias views the memory of a part as something else.
  [[nodiscard]] bool leaves_part(const et_schema::Instruction& alias) const;
  /// Returns true if the instruction allocates memory of the sizes of a tensor that is not a part.
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
  std::map<et_schema::StorageId, std::int64_t> in_place_;  ///< elements of a part gathered in place
};

}  // namespace understudy::generator
