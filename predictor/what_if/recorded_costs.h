#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

struct Flow;
struct ObservedComm;

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

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const CommCall& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override;

 private:
  struct Row {
    double host_ns = 0;
    double gap_ns = 0;
    double device_ns = 0;
    double faults = 0;
    std::uint64_t launches = 0;
  };
  [[nodiscard]] const Row& row_of(const Program& program, const Instruction& instruction) const;
  void add(const Program& program, const Flow& flow, const std::vector<std::int64_t>& host_ns);
  void note_communication(const Program& program, const Instruction& call,
                          const std::optional<ObservedComm>& seen);
  static void spread_faults(const Program& program, std::vector<Row>& rows);

  bool is_partial_;
  PageFaultCost fault_;
  std::unordered_map<const Program*, std::vector<Row>> rows_;
  std::unordered_map<const Program*, double> ends_;  ///< where the device's work is recorded
  std::unordered_map<const Instruction*, double> communications_;
  std::optional<double> ns_per_byte_;  ///< of a CPU's communications
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
