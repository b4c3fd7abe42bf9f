#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// What a page fault costs a CPU program, and the interval that holds 9 of 10 machines: a trap and
/// a cleared page. docs/prediction.md has the measurements.
struct PageFaultCost {
  double ns = 1'550;
  double low_ns = 700;
  double high_ns = 2'100;
};

/// Times of the original, from the profile that the programs were linked with (docs/metrics.md,
/// "Recorded times"). What an operator waited for its device is taken out, and what a communication
/// waited for other ranks: docs/prediction.md, "Recorded costs".
class RecordedCosts final : public Costs {
 public:
  /// `job` must outlive it. Throws Error (usage): a program without a profile.
  explicit RecordedCosts(const Job& job, const PageFaultCost& fault = {});
  ~RecordedCosts() override;

  [[nodiscard]] OperatorCost of_operator(const et_schema::Program& program,
                                         const et_schema::Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const CommCall& call) const override;
  [[nodiscard]] Estimate of_gap(const et_schema::Program& program,
                                const et_schema::Instruction& instruction) const override;

 private:
  class Tables;
  std::unique_ptr<const Tables> tables_;
};

/// By rank: when it began its recorded step, the first at 0. A collective's kernel ends at the same
/// moment on all ranks, however long each has waited: the first one of each group tells their
/// clocks apart. Ranks that no such kernel ties to another begin at 0.
[[nodiscard]] std::vector<std::int64_t> recorded_start_times(const Job& job);

/// What the job's communication between GPUs took, from its ranks' profiles; a row for each kind,
/// size and group. Of each call the shortest time of its ranks, which is that of the rank that came
/// last and waited for nobody. A call is a measurement only if the profiles of all its ranks show
/// it; a CPU's times hold waits, and are none. `source` names the file. Throws Error (bad input):
/// as simulate() does.
[[nodiscard]] ReadCollectives recorded_comms(const Job& job, const std::string& source);

}  // namespace understudy::predictor
