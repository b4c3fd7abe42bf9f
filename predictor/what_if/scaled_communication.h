#pragma once

#include "predictor/calls/costs.h"

namespace understudy::predictor {

/// Scales recorded times of communication to another number of ranks on the same network. The
/// recorded number is GroupComm::recorded_ranks. Latency grows with the steps, the rest with the
/// link bytes (collectives/traffic.h). The interval accounts for other networks. Throws Error
/// (usage) if only one rank was recorded.
class ScaledCommunication final : public Costs {
 public:
  /// `costs` must outlive it.
  explicit ScaledCommunication(const Costs& costs) : costs_(costs) {}

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override {
    return costs_.of_operator(program, instruction);
  }
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override;
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
