#pragma once

#include <optional>

#include "predictor/calls/costs.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// The job on another number of ranks, each with the batch that it has now: rank r does what rank
/// r mod (ranks that there are) does. Of an all-to-all each rank sends as many bytes as recorded,
/// the part for a rank shared by those that do as it does; what gathers and scatters exchange,
/// `gathers` says. Throws Error (bad input), by name: ranks that call different operators, a group
/// that is not the whole job, sends and receives, and gathers and scatters where `gathers` is not
/// given.
[[nodiscard]] Job with_world_size(const Job& job, int ranks,
                                  std::optional<GatherSize> gathers = {});

/// Times of communications that were seen on some ranks, for more of them, as if the network
/// between all of them were that between those: latency grows with the steps, the rest with the
/// link bytes (collectives/traffic.h). The interval says that this need not be so. Throws Error
/// (usage) where only one rank was seen.
class ScaledCommunication final : public Costs {
 public:
  /// `costs` must outlive it.
  ScaledCommunication(const Costs& costs, int seen_ranks);

  [[nodiscard]] OperatorCost of_operator(const et_schema::Program& program,
                                         const et_schema::Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const CommCall& call) const override;
  [[nodiscard]] Estimate of_gap(const et_schema::Program& program,
                                const et_schema::Instruction& instruction) const override;

 private:
  const Costs& costs_;
  int seen_ranks_;
};

}  // namespace understudy::predictor
