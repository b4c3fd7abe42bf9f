#pragma once

#include <unordered_map>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// Page faults of the steps that nothing observed, by operator. Where the capture counted those of
/// each operator they are its own, scaled to the step's number; else each operator has as many as
/// it has of the bytes that the original took from the heap in large blocks, or, where no profile
/// shows these, of the bytes of its results. No faults where the step's number is not known.
class RecordedPageFaults {
 public:
  explicit RecordedPageFaults(const Job& job);

  [[nodiscard]] double of(const Program& program, const Instruction& instruction) const;
  /// Of all of a program's operators.
  [[nodiscard]] double of_step(const Program& program) const;

 private:
  /// By program and instruction. `job` must outlive it.
  std::unordered_map<const Program*, std::vector<double>> faults_;
};

}  // namespace understudy::predictor
