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

/// The roles of a program's tensors: carried from what is gathered and scattered to all memory and
/// all operators that hold a part, against the data flow too.
class ShardRoles {
 public:
  /// `groups`: of the `ranks` that share parameters. The program must outlive this. Throws Error
  /// (bad input), by operator, where no rule says what it does with a part.
  ShardRoles(const et_schema::Program& program, const std::set<et_schema::GroupId>& groups,
             std::int64_t ranks, int rank);

  /// A slot that the recorded program lacks has none.
  [[nodiscard]] ShardRole of(et_schema::SlotId slot) const {
    return slot < roles_.size() ? roles_[slot] : ShardRole::kOther;
  }
  [[nodiscard]] std::size_t size() const { return roles_.size(); }
  /// Whether a tensor of the instruction has one.
  [[nodiscard]] bool concern(const et_schema::Instruction& instruction) const;
  /// Of an alias: whether it sees the memory of a part as something else.
  [[nodiscard]] bool leaves_part(const et_schema::Instruction& alias) const;
  /// Whether it makes memory in the sizes of a tensor that is no part.
  [[nodiscard]] bool makes_like_other(const et_schema::Instruction& instruction) const;
  /// By storage: elements of a part that is gathered to where it lies.
  [[nodiscard]] const std::map<et_schema::StorageId, std::int64_t>& in_place() const {
    return in_place_;
  }

 private:
  void begin(const std::set<et_schema::GroupId>& groups);
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

  const et_schema::Program& program_;
  std::set<et_schema::GroupId> groups_;
  std::int64_t ranks_;
  int rank_;
  std::vector<ShardRole> roles_;  ///< by slot
  std::map<et_schema::StorageId, std::int64_t> in_place_;
};

}  // namespace understudy::generator
