#pragma once

#include "predictor/calls/costs.h"

namespace understudy::predictor {

/// Times of communications that were seen on some ranks (CommCall::recorded_ranks), for more or
/// fewer of them, as if the network between all of them were that between those: latency grows with
/// the steps, the rest with the link bytes (collectives/traffic.h). The interval says that this
/// need not be so. Throws Error (usage) where only one rank was seen.
class ScaledCommunication final : public Costs {
 public:
  /// `costs` must outlive it.
  explicit ScaledCommunication(const Costs& costs) : costs_(costs) {}

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override {
    return costs_.of_operator(program, instruction);
  }
  [[nodiscard]] Estimate of_communication(const CommCall& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override {
    return costs_.of_gap(program, instruction);
  }
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override {
    return costs_.of_end(program);
  }

 private:
  const Costs& costs_;
};

}  // namespace understudy::predictor
