#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/calls/costs.h"
#include "predictor/simulate/job.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

enum class WhatIfTarget : std::uint8_t {
  kClass,        ///< operators of a class, told by op_class()
  kOperator,     ///< operators whose name matches a regular expression
  kCollective,   ///< communications of a kind
  kNetwork,      ///< all communications
  kHost,         ///< what operators take of the host that issues them, and what lies between
  kSingleStream  ///< all work of a device on one stream
};

/// One question: times of what is meant, multiplied.
struct WhatIf {
  std::string text;  ///< as it was asked: "matmul x0.5"
  WhatIfTarget target = WhatIfTarget::kOperator;
  std::string name;  ///< of the class or kind
  double factor = 1;
  std::optional<std::regex> pattern = {};
};

/// Reads "TARGET xFACTOR", or "streams 1". TARGET is `network`, `host`, a class, a kind of
/// communication, or a regular expression of operators' names. Throws Error (usage).
[[nodiscard]] WhatIf parse_what_if(std::string_view text);

/// What a question changes, of the operators or communications of one name.
struct WhatIfChange {
  std::uint64_t instructions = 0;  ///< of all ranks
  double before_ns = 0;            ///< Σ of their times, of all ranks
  double after_ns = 0;
};
using WhatIfChanges = std::map<std::string, WhatIfChange>;  ///< by name

/// Costs with questions applied one after the other. On a device an operator's work there changes,
/// and its host's part only by `host`; on a CPU, where the host does the work, `host` is what lies
/// between operators.
class WhatIfCosts final : public Costs {
 public:
  /// `costs` must outlive it.
  WhatIfCosts(const Costs& costs, std::vector<WhatIf> questions);

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const CommCall& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override;

 private:
  [[nodiscard]] Estimate of_host(Estimate estimate) const;

  const Costs& costs_;
  std::vector<WhatIf> questions_;
};

/// What each question changes of what those before it left, communications apart from their
/// waiting. `costs` as Simulation::costs without the questions. Throws Error (usage) for a question
/// that is about nothing, with what could have been meant.
[[nodiscard]] std::vector<WhatIfChanges> changes_of(
    const Job& job, const std::vector<std::vector<PlayedCost>>& costs,
    const std::vector<WhatIf>& questions);

/// The program with all tensors of the host on one accelerator, as `replay --place device` takes
/// them.
[[nodiscard]] Program placed_on_device(Program program);

}  // namespace understudy::predictor
