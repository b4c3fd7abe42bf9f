#include "predictor/what_if/page_faults.h"

#include <numeric>

#include "et_schema/model/program.h"

namespace understudy::predictor {
namespace {

// Weights of an instruction, given by its index.

double counted(const Program& program, std::size_t instruction) {
  const auto& timing = program.instructions[instruction].timing;
  return timing ? static_cast<double>(timing->page_faults.value_or(0)) : 0;
}

double heap_bytes(const Program& program, std::size_t instruction) {
  double bytes = 0;
  for (const et_schema::HeapBlock& block : heap_blocks_of(program, instruction)) {
    bytes += static_cast<double>(block.bytes);
  }
  return bytes;
}

double result_bytes(const Program& program, std::size_t instruction) {
  double bytes = 0;
  et_schema::for_each_slot(program.instructions[instruction].results, [&](et_schema::SlotId id) {
    bytes += static_cast<double>(program.storages[program.slots[id].storage].bytes);
  });
  return bytes;
}

using Weight = double (*)(const Program&, std::size_t);

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// Spreads faults by the first weight that is known.
std::vector<double> spread(double faults, const Program& program) {
  std::vector<double> parts(program.instructions.size());
  for (const Weight weight : {&counted, &heap_bytes, &result_bytes}) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i] = weight(program, i);
    }
    if (const double sum = sum_of(parts); sum > 0) {
      for (double& part : parts) {
        part *= faults / sum;
      }
      break;
    }
  }
  return parts;
}

}  // namespace

RecordedPageFaults::RecordedPageFaults(const Job& job) {
  for (const Program* program : job.programs) {
    const bool is_known = program->profile && program->profile->minor_faults;
    const double faults = is_known ? static_cast<double>(*program->profile->minor_faults) : 0;
    faults_[program] = spread(faults, *program);
  }
}

double RecordedPageFaults::of(const Program& program, const Instruction& instruction) const {
  return faults_.at(&program)[static_cast<std::size_t>(&instruction - program.instructions.data())];
}

double RecordedPageFaults::of_step(const Program& program) const {
  return sum_of(faults_.at(&program));
}

}  // namespace understudy::predictor
