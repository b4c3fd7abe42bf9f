// How fast the simulator is. If a benchmark with recorded times is given, it simulates that job,
// from its programs to its figures; otherwise jobs that it makes itself.
#include "predictor/simulate/simulate.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <string>

#include "et_schema/formats/bench/bench.h"
#include "peak_memory.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

using et_schema::Argument;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Operators of 20 us on the host and `skew` more on the device, a communication in 10 us.
class FlatCosts final : public Costs {
 public:
  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override {
    if (instruction.comm) {
      return {known(20'000, "flat"), {}, 0};
    }
    const auto skew = static_cast<double>(program.instructions.size() % 16);
    return {known(20'000, "flat"), known(15'000 + 1'000 * skew, "flat"), 1};
  }
  [[nodiscard]] Estimate of_communication(const GroupComm&) const override {
    return known(10'000, "flat");
  }
  [[nodiscard]] Estimate of_gap(const Program&, const Instruction&) const override {
    return known(2'000, "flat");
  }
};

/// A program of `collectives` collectives with `operators` operators before each.
Program make_program(int collectives, int operators, int odd) {
  Program program;
  program.storages.push_back({.device = et_schema::parse_device("cuda:0"), .bytes = 4096});
  et_schema::Slot& slot = program.slots.emplace_back();
  slot.dtype = et_schema::DType::kFloat32;
  slot.sizes = {1024};
  const Argument tensor{Argument::SlotRef{0}};
  const auto add = [&](InstructionKind kind, const char* name) -> Instruction& {
    Instruction& instruction = program.instructions.emplace_back();
    instruction.kind = kind;
    instruction.name = name;
    instruction.node_id = program.instructions.size();
    return instruction;
  };
  for (int i = 0; i < collectives; ++i) {
    for (int k = 0; k < operators; ++k) {
      add(InstructionKind::kOp, "aten::mm").args = {tensor};
    }
    Instruction& call = add(InstructionKind::kCollective, "allreduce");
    call.args = {{Argument::List{tensor}}, {Argument::List{tensor}}};
    call.comm.emplace().kind = et_schema::CommKind::kAllReduce;
    call.comm->is_async = true;
  }
  for (int i = 0; i < odd; ++i) {
    add(InstructionKind::kOp, "aten::mm").args = {tensor};
  }
  return program;
}

void measure(const char* name, int ranks, int collectives, int operators, int distinct,
             bool merged) {
  std::deque<Program> programs;
  Job job;
  job.groups.emplace_back().name = "world";
  for (int i = 0; i < distinct; ++i) {
    programs.push_back(make_program(collectives, operators, i));
    job.programs.push_back(&programs.back());
  }
  for (int rank = 0; rank < ranks; ++rank) {
    job.program_of.push_back(static_cast<std::uint32_t>(rank % distinct));
  }
  SimulateOptions options;
  options.merge_ranks = merged;
  options.spans = merged;
  const Clock::time_point begin = Clock::now();
  const Simulation simulation = simulate(job, FlatCosts(), options);
  const double seconds = seconds_since(begin);
  fmt::print("{}: {:.3f} s, {} events, {:.2f} M events/s, peak {:.0f} MB\n", name, seconds,
             simulation.events, static_cast<double>(simulation.events) / seconds / 1e6,
             peak_bytes() / 1e6);
}

void measure_benchmark(const std::string& path) {
  const et_schema::Bench bench = et_schema::read_bench(path);
  constexpr int kRuns = 5;
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const Clock::time_point begin = Clock::now();
    Job job = job_of(bench);
    const RecordedCosts costs(job);
    job.start_ns = recorded_start_times(job);
    const Simulation simulation = simulate(job, costs);
    best = std::min(best, seconds_since(begin));
  }
  fmt::print("benchmark of {} ranks: {:.1f} ms after loading\n", bench.world_size(), best * 1e3);
}

}  // namespace
}  // namespace understudy::predictor

int main(int argc, char** argv) {
  using understudy::predictor::measure;
  if (argc > 1) {
    understudy::predictor::measure_benchmark(argv[1]);
    return 0;
  }
  measure("1,024 ranks, 1,500 collectives, 8 programs", 1024, 1500, 2, 8, true);
  measure("10,000 ranks, 1,500 collectives, 8 programs", 10'000, 1500, 2, 8, true);
  measure("64 ranks played apart", 64, 500, 2, 8, false);
  measure("1,024 ranks played apart", 1024, 100, 2, 8, false);
}
