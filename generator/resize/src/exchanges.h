#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "world_plan.h"

namespace understudy::generator {

/// By sending and by receiving rank: the number of rows sent.
using RowMatrix = std::vector<std::vector<std::int64_t>>;

/// All-to-alls in resized groups. Each rank sends as much as recorded. The rows for a recorded rank
/// are shared equally among the ranks that copy it, or, if none does, are sent to the rank that
/// takes its place. Each rank receives as much as recorded if all ranks together receive as much as
/// all send.
class Exchanges {
 public:
  /// `plan` must outlive this.
  explicit Exchanges(const WorldPlan& plan) : plan_(plan) {}

  /// Sets the splits of the n-th exchange of a recorded group in a new rank's program. `group`: the
  /// new group. Returns true if the shape of an operator's tensor changes. Throws Error (bad input)
  /// if the ranks' exchanges differ; WorldDoesNotFit if the received rows are used in another size.
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
