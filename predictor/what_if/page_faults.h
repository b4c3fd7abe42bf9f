#pragma once

#include <unordered_map>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// Page faults of unobserved steps, by operator. If the capture counted faults by operator, these
/// are scaled to the step's number. Otherwise the step's faults are divided in proportion to the
/// bytes of large heap blocks, or, if no profile shows them, to the bytes of results. Zero if the
/// step's number is unknown.
class RecordedPageFaults {
 public:
  explicit RecordedPageFaults(const Job& job);

  [[nodiscard]] double of(const Program& program, const Instruction& instruction) const;
  /// Returns the sum over a program's operators.
  [[nodiscard]] double of_step(const Program& program) const;

 private:
  /// By program and instruction. `job` must outlive it.
  std::unordered_map<const Program*, std::vector<double>> faults_;
};

}  // namespace understudy::predictor
