#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// What holds a rank's part of parameters that are sharded over ranks (FSDP, ZeRO), and how it
/// becomes a part of another number of ranks. What is gathered keeps its size.
class Shards {
 public:
  /// `groups`: of the ranks that share parameters, `from` of them, `to` in the other job. Roles are
  /// carried from what is gathered and scattered to all memory and all operators that hold a part,
  /// against the data flow too. Throws Error (bad input), by operator, where no rule says what it
  /// does with a part; WorldDoesNotFit where a part is not as many times as large.
  Shards(const et_schema::Program& program, const std::set<et_schema::GroupId>& groups,
         std::int64_t from, std::int64_t to, int rank);

  /// Gives the program's tensors and the numbers among its arguments their new sizes.
  /// `position`: in the group, of the recorded rank and of the new one. Returns how many operators
  /// lost what was recorded below them, whose sizes no rule tells.
  std::uint64_t apply(et_schema::Program& program, std::int64_t recorded_position,
                      std::int64_t position) const;

 private:
  enum class Role : std::uint8_t {
    kOther,
    kPart,  ///< one rank's: the first dimension is divided
    kTable  ///< a whole as [ranks, parts]
  };

  void begin();
  void carry_on();
  [[nodiscard]] bool carry(const et_schema::Instruction& instruction);
  [[nodiscard]] bool carry_by_memory();
  [[nodiscard]] bool carry_columns(const et_schema::Instruction& instruction);
  [[nodiscard]] bool carry_parts(const et_schema::Instruction& instruction);
  [[nodiscard]] bool carry_tables(const et_schema::Instruction& instruction);
  [[nodiscard]] bool set(et_schema::SlotId slot, Role role);
  void check(const std::vector<et_schema::Instruction>& instructions) const;
  void check(const et_schema::Instruction& instruction) const;
  [[nodiscard]] std::int64_t part_of(std::int64_t number, et_schema::SlotId slot) const;
  void resize(et_schema::Slot& slot, et_schema::SlotId id, std::int64_t recorded_position,
              std::int64_t position) const;
  std::uint64_t change(std::vector<et_schema::Instruction>& instructions,
                       const et_schema::Program& scaled, std::int64_t position) const;
  void part_memory(et_schema::Program& program) const;
  [[nodiscard]] bool leaves_part(const std::vector<et_schema::SlotId>& in,
                                 const std::vector<et_schema::SlotId>& out) const;
  [[nodiscard]] std::int64_t move_wholes(et_schema::StorageId from, et_schema::StorageId to,
                                         et_schema::Program& program) const;
  [[nodiscard]] bool is_reused_for_wholes(const et_schema::Instruction& instruction) const;
  [[nodiscard]] bool keeps_parts(const et_schema::Instruction& instruction) const;
  [[nodiscard]] bool is_changed(const et_schema::Instruction& instruction) const;

  const et_schema::Program& program_;
  const std::set<et_schema::GroupId>& groups_;
  std::int64_t from_;
  std::int64_t to_;
  int rank_;
  std::vector<Role> roles_;                                ///< by slot
  std::map<et_schema::StorageId, std::int64_t> in_place_;  ///< gathered where the part lies: its
                                                           ///< elements
};

}  // namespace understudy::generator
