#pragma once

#include <vector>

#include "et_schema/bench/bench.h"
#include "world_plan.h"

namespace understudy::generator {

/// What the user is told of each recorded group: its rule, and the bytes of the first rank that has
/// it.
class WorldRules {
 public:
  /// `plan` must outlive it.
  explicit WorldRules(const WorldPlan& plan) : plan_(plan), groups_(plan.bench().groups.size()) {}

  /// A recorded program, and what became of it.
  void note(const et_schema::Program& recorded, const et_schema::Program& program);
  [[nodiscard]] std::vector<et_schema::ScaledGroup> groups() const;

 private:
  const WorldPlan& plan_;
  std::vector<et_schema::ScaledGroup> groups_;  ///< by recorded group
};

}  // namespace understudy::generator
