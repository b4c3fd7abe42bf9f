#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/model/program.h"
#include "predictor/calls/costs.h"
#include "predictor/simulate/job.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/own_times.h"

namespace understudy::predictor {

enum class WhatIfTarget : std::uint8_t {
  kClass,       ///< operators of a class, by op_class()
  kOperator,    ///< operators whose name matches a regular expression
  kCollective,  ///< communications of a kind
  kNetwork,     ///< all communications
  kHost,        ///< host time of operators on a device, and the gaps between operators
  kRank,        ///< a rank's own time (own_times.h)
  kRanks,       ///< the own time of all ranks
  kNode         ///< communications that a rank of a node takes part in
};

/// One question: multiplies the times of its target by a factor, or makes ranks even.
struct WhatIf {
  std::string text;  ///< as given by the user: "matmul x0.5"
  WhatIfTarget target = WhatIfTarget::kOperator;
  std::string name;  ///< name of the class or kind
  double factor = 1;
  std::optional<std::regex> pattern = {};
  int number = 0;        ///< of the rank or node
  bool is_even = false;  ///< each part of ranks' own time becomes the usual one (usual_times())
  /// Of ranks and nodes, set by about_ranks(): the factors of the parts of their programs.
  std::map<const Program*, std::map<OwnPart, double>> of_ranks = {};
};

/// Parses "TARGET xFACTOR". TARGET is `network`, `host`, a class, a kind of communication, `rank
/// N`, `ranks`, `node N network`, or a regular expression for operators' names. Of ranks also
/// "rank N even" and "ranks even". Throws Error (usage).
[[nodiscard]] WhatIf parse_what_if(std::string_view text);

/// Costs of operators that were asked before (Simulation::costs), by instruction.
using AskedCosts = std::map<const Program*, std::vector<PlayedCost>>;

/// Costs with questions applied in order; those about ranks are from about_ranks(). For operators
/// on a device only `host` changes the host's time, other questions change the device's. On a CPU,
/// where the host does the work, `host` applies to the gaps between operators.
class WhatIfCosts : public Costs {
 public:
  /// `costs` and `asked` must outlive it. `asked` holds the costs of all programs' operators; if it
  /// is null, `costs` is asked for each.
  WhatIfCosts(const Costs& costs, std::vector<WhatIf> questions, const AskedCosts* asked = nullptr);

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override;
  [[nodiscard]] Estimate of_outside(const Program& program,
                                    const et_schema::DeviceWork& work) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override;

 private:
  [[nodiscard]] Estimate of_host(const Program& program, Estimate estimate) const;

  const Costs& costs_;
  std::vector<WhatIf> questions_;
  const AskedCosts* asked_;
};

/// Returns the effect of each question on the result of the previous ones, without communications'
/// waits, by name, the largest first. `simulation` must be without questions. Throws Error (usage)
/// if a question matches nothing, with possible targets.
[[nodiscard]] std::vector<et_schema::PredictedChange> changes_of(
    const Job& job, const Simulation& simulation, const std::vector<WhatIf>& questions);

/// Returns the program with all host tensors on one accelerator, as `replay` moves it.
[[nodiscard]] Program placed_on_device(Program program);

}  // namespace understudy::predictor
