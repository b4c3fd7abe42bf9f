#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "world_plan.h"

namespace understudy::generator {

/// What each rank of a group sends to each, in rows.
using RowMatrix = std::vector<std::vector<std::int64_t>>;

/// All-to-alls in groups that grow or shrink. Each rank sends as much as recorded: the part for a
/// rank goes to those that do as it did, in equal shares, or, where none does, to the rank that
/// takes its turn. Each receives as much as recorded where that is possible, which it is where all
/// receive together what all send.
class Exchanges {
 public:
  /// `plan` must outlive it.
  explicit Exchanges(const WorldPlan& plan) : plan_(plan) {}

  /// Gives the n-th exchange of a recorded group in a new rank's program its splits. `group`: the
  /// new one. Returns whether an operator has another shape. Throws Error (bad input) where ranks
  /// do not exchange alike; WorldDoesNotFit where what is received is used in another size.
  [[nodiscard]] bool change(std::int64_t rank, et_schema::GroupId group,
                            et_schema::GroupId recorded, std::size_t number,
                            et_schema::Instruction& call, et_schema::Program& program);

 private:
  [[nodiscard]] const RowMatrix& dealt(std::int64_t rank, et_schema::GroupId group,
                                       et_schema::GroupId recorded, std::size_t number);
  [[nodiscard]] std::vector<const et_schema::Instruction*> calls_like(
      std::size_t program, et_schema::GroupId recorded) const;
  [[nodiscard]] bool receive(std::int64_t rows, std::int64_t rank, et_schema::GroupId recorded,
                             const et_schema::Instruction& call, et_schema::Program& program) const;

  const WorldPlan& plan_;
  std::map<std::pair<et_schema::GroupId, std::size_t>, RowMatrix> dealt_;
};

}  // namespace understudy::generator
