#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "answers.h"
#include "et_schema/model/program.h"
#include "generator/resize/batch.h"

namespace understudy::generator {

/// A rank's parts of parameters that are sharded over ranks (FSDP, ZeRO), for another number of
/// ranks. Gathered tensors keep their size.
class Shards {
 public:
  /// `groups`: groups of the ranks that share parameters, `from` ranks as recorded, `to` in the new
  /// job. `ask` answers which other tensors and numbers change. The program must outlive this.
  /// Throws Error (bad input) with all operators that cannot run with the new parts, and
  /// WorldDoesNotFit if the ranks cannot share a part evenly.
  Shards(const et_schema::Program& program, const std::set<et_schema::GroupId>& groups,
         std::int64_t from, std::int64_t to, int rank, const AskSizes& ask);

  /// Sets the new sizes of the program's tensors and of the numbers among its arguments, for a
  /// rank's place in the group. Returns how many operators lost their recorded body.
  std::uint64_t apply(et_schema::Program& program, std::int64_t place) const;

 private:
  [[nodiscard]] bool leaves_part(const et_schema::Instruction& alias) const;
  [[nodiscard]] bool makes_like_other(const et_schema::Instruction& instruction) const;
  void give_templates(et_schema::Program& program) const;
  void separate_memory(et_schema::Program& program) const;
  [[nodiscard]] std::int64_t move_wholes(et_schema::StorageId from, et_schema::StorageId to,
                                         et_schema::Program& program) const;

  const et_schema::Program& program_;
  int rank_;
  Answers answers_;
  std::vector<bool> is_part_;  ///< by slot: its first dimension is divided
};

}  // namespace understudy::generator
