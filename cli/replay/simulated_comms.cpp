#include "simulated_comms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/model/open_comms.h"
#include "predictor/platform/platform_costs.h"
#include "predictor/simulate/simulate.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::cli {
namespace {

using et_schema::Instruction;
using et_schema::Program;

/// Returns the cost of each instruction's communication.
std::vector<predictor::PlayedCost> played(const et_schema::Bench& bench, int rank,
                                          const std::string& source) {
  const predictor::Job job = predictor::job_of(bench);
  const auto simulated = [&](const predictor::Costs& costs) {
    const predictor::SimulateOptions once{.warmup = 0, .iterations = 1, .spans = false};
    return predictor::simulate(job, costs, once)
        .costs[job.program_of[static_cast<std::size_t>(rank)]];
  };
  if (source == "recorded") {
    return simulated(predictor::RecordedCosts(job));
  }
  const predictor::Platform platform = predictor::read_platform(source);
  const predictor::CollectiveModels models = predictor::collectives_of(platform);
  refuse_if(models.series.empty(), "the platform does not say what communication takes", "--comms",
            "a platform with collectives", "none",
            "calibrate fits them to what it or nccl-tests measured", source);
  return simulated(predictor::CommCosts(
      [&](const predictor::GroupComm& call) { return estimate(models, call); }));
}

[[noreturn]] void refuse(const Instruction& call, std::string expected, std::string got) {
  throw et_schema::usage_error(
      "it is not known what a communication takes",
      {.node = call.node_id,
       .field = "--comms",
       .expected = std::move(expected),
       .got = fmt::format("{} {}", call.name, got),
       .hint = "--comms PLATFORM.json takes what a platform's models predict"});
}

}  // namespace

void check_simulated_comms(const ReplayArguments& arguments, int processes) {
  const auto refuse_setting = [&](bool is_wrong, const char* expected, const std::string& got) {
    refuse_if(is_wrong && !arguments.comm_times.empty(),
              "communication is simulated for one rank alone", "--comms", expected, got,
              "--comms nccl and --comms host let ranks communicate");
  };
  refuse_setting(processes > 1, "one process and --rank K", fmt::format("{} processes", processes));
  refuse_setting(arguments.options.only != replayer::Only::kAll, "communication beside operators",
                 "--only");
}

CommTimes comm_times(const et_schema::Bench& bench, int rank, const std::string& source) {
  const std::vector<Instruction>& all = bench.programs[static_cast<std::size_t>(rank)].instructions;
  const bool is_recorded = source == "recorded";
  const bool has_profiles = std::ranges::all_of(
      bench.programs, [](const Program& program) { return program.profile.has_value(); });
  std::vector<const Instruction*> calls;
  for (const Instruction& each : all) {
    if (!et_schema::is_communication(each)) {
      continue;
    }
    if (is_recorded && !(each.timing && has_profiles)) {
      refuse(each, "recorded times of all ranks' communications", "without one");
    }
    calls.push_back(&each);
  }
  CommTimes times;
  if (calls.empty()) {
    return times;
  }
  const std::vector<predictor::PlayedCost> costs = played(bench, rank, source);
  for (const Instruction* const call : calls) {
    const predictor::Estimate& cost =
        costs[static_cast<std::size_t>(call - all.data())].communication;
    times.ns.push_back(std::max(1LL, std::llround(cost.ns)));  // 0 means not simulated
    times.guessed += is_recorded && cost.model != "recorded" ? 1U : 0U;
  }
  return times;
}

}  // namespace understudy::cli
