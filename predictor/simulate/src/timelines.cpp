#include <map>

#include "et_schema/model/threads.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {
Timelines timelines_of(const et_schema::Program& program) {
  Timelines timelines;
  timelines.of_instruction.assign(program.instructions.size(), 0);
  const et_schema::RecordedThreads threads = et_schema::recorded_threads(program);
  timelines.threads = {threads.main};
  std::map<std::uint64_t, std::uint32_t> own;
  for (const std::uint64_t thread : threads.beside) {
    own.emplace(thread, static_cast<std::uint32_t>(timelines.threads.size()));
    timelines.threads.push_back(thread);
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const auto found = own.find(program.instructions[i].thread);
    timelines.of_instruction[i] = found == own.end() ? 0 : found->second;
  }
  return timelines;
}

}  // namespace understudy::predictor
