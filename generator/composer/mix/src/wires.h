#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/composer/mix/piece.h"
#include "generator/composer/plan/plan.h"
#include "occurrence.h"

namespace understudy::composer {

/// One rank's program as composed so far: the tensors to which a new piece can be wired.
struct Made {
  const Plan& plan;
  int rank;
  const et_schema::Program& program;
  const std::vector<Occurrence>& all;
  const std::map<std::string, std::size_t>& last;  ///< by name: the latest occurrence
  std::optional<std::size_t> newest;
};

/// Returns the bindings that the plan's wires and chains define: input of the piece → slot of the
/// new program. Throws Error (bad input) if an end of a wire does not exist or does not fit.
[[nodiscard]] std::map<et_schema::SlotId, et_schema::SlotId> wires_of(
    const Made& made, const PlanItem& item, const et_schema::Program& origin, const Piece& piece);

}  // namespace understudy::composer
