#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "et_schema/model/program.h"
#include "shard_roles.h"

namespace understudy::generator {

/// A rank's part of parameters that are sharded over ranks (FSDP, ZeRO) becomes one of another
/// number of ranks. What is gathered keeps its size.
class Shards {
 public:
  /// `groups`: of the ranks that share parameters, `from` of them, `to` in the other job. Throws
  /// Error (bad input) as ShardRoles does.
  Shards(const et_schema::Program& program, const std::set<et_schema::GroupId>& groups,
         std::int64_t from, std::int64_t to, int rank);

  /// Gives the program's tensors and the numbers among its arguments their new sizes.
  /// `position`: in the group, of the recorded rank and of the new one. Returns how many operators
  /// lost what was recorded below them, whose sizes no rule tells. Throws WorldDoesNotFit where
  /// ranks cannot share a part evenly.
  std::uint64_t apply(et_schema::Program& program, std::int64_t recorded_position,
                      std::int64_t position) const;

 private:
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
  std::int64_t from_;
  std::int64_t to_;
  int rank_;
  ShardRoles roles_;
};

}  // namespace understudy::generator
