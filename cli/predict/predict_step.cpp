#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "arguments.h"
#include "cli/asking/asking.h"
#include "cli/compile/compile.h"
#include "cli/pages/bench/bench_document.h"
#include "costs.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/version.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/original_step.h"
#include "et_schema/model/timed_work.h"
#include "generator/flow/fake_group.h"
#include "predictor/calls/known_cards.h"
#include "predictor/collectives/traffic.h"
#include "predictor/platform/platform_costs.h"
#include "predictor/simulate/assessment.h"
#include "predictor/simulate/predict.h"
#include "predictor/work/step_work.h"

namespace understudy::cli {
namespace {

using predictor::kMsPerNs;

et_schema::Bench read_or_compile(const PredictArguments& arguments, Progress& progress) {
  ProfileChoice profiles;
  profiles.is_as_profiled = arguments.platform.empty() && !arguments.batch;
  return load_benchmark(arguments.paths,
                        {.partial = is_given(arguments.world) ? generator::PartialRanks::kOfOneJob
                                                              : generator::PartialRanks::kOneAlone,
                         .allowed_operators = all_operators()},
                        profiles, progress)
      .bench;
}

/// Throws for recorded times of a scaled job: communication takes another time in a larger group,
/// and `generate` has dropped the recorded one.
void refuse_scaled(const PredictArguments& arguments, const et_schema::Bench& bench) {
  if (!arguments.recorded || !bench.scaled) {
    return;
  }
  const auto& groups = bench.scaled->groups;
  const auto other = std::ranges::find_if(groups, [](const et_schema::ScaledGroup& group) {
    return group.ranks_before != group.ranks_after;
  });
  if (other != groups.end()) {
    throw et_schema::usage_error(
        "no time was recorded of what these ranks communicate",
        {.file = arguments.paths.front(),
         .expected = "the benchmark of the ranks that were traced",
         .got = fmt::format("one that generate made for {} ranks: group '{}' had {} and has {}",
                            bench.scaled->ranks.size(), other->name, other->ranks_before,
                            other->ranks_after),
         .hint = fmt::format("understudy predict BENCH --world-size {} of the traces or the "
                             "benchmark that it was made of "
                             "scales the recorded times; --card or --platform models them",
                             bench.scaled->ranks.size())});
  }
}

/// Returns the job on other ranks; `world` must outlive it. The distance between the ranks of a
/// message is unchanged, and therefore `kept_apart`, too.
predictor::Job job_of(const generator::ScaledWorld& world, const predictor::Job& recorded) {
  predictor::Job job;
  job.groups = world.groups;
  job.recorded_ranks = world.recorded_ranks;
  job.ranks_per_node = recorded.ranks_per_node;
  job.program_of = world.program_of;
  job.own_groups = world.own_groups;
  for (const et_schema::Program& program : world.programs) {
    job.programs.push_back(&program);
  }
  if (!recorded.kept_apart.empty()) {
    for (const std::size_t source : world.source_of) {
      job.kept_apart.push_back(recorded.kept_apart[source]);
    }
  }
  return job;
}

std::string world_text(const PredictArguments& arguments, const generator::ScaledWorld& world) {
  const et_schema::ScaledJob& scaled = world.scaled;
  std::string text = fmt::format("{} ranks do what {} did, each with its batch",
                                 scaled.ranks.size(), scaled.world_size);
  if (scaled.groups.empty()) {
    return text + fmt::format(
                      "; the benchmark has no communication: the gradient all-reduce that a job of "
                      "{} ranks adds is NOT in this time",
                      scaled.ranks.size());
  }
  std::set<std::string> rules;
  for (const et_schema::ScaledGroup& group : scaled.groups) {
    std::string rule = fmt::format("; {} groups, of {} ranks for {}: {}", group.kind,
                                   group.ranks_after, group.ranks_before, group.rule);
    if (rules.insert(rule).second) {
      text += rule;
    }
  }
  if (arguments.recorded && world.has_other_shapes) {
    text += "; operators on a part, and sums of parts, take what they took";
  }
  if (arguments.recorded) {
    text +=
        "; latency of communication grows with its steps, the rest by nccl-tests' factor, as if "
        "all were on one network";
  }
  return text;
}

/// The job with another batch size on all ranks, and the effect of the change.
struct BatchedJob {
  std::deque<et_schema::Program> programs;  ///< the job's
  std::vector<std::string> summary;
};

BatchedJob take_batch(const generator::BatchSize& batch, predictor::Job& job) {
  BatchedJob batched;
  const generator::AskSizes ask = ask_sizes();
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    const auto rank = std::find(job.program_of.begin(), job.program_of.end(), i);
    const auto number = static_cast<int>(rank - job.program_of.begin());
    generator::ScaledBatch scaled =
        generator::with_batch_size(*job.programs[i], batch, number, ask);
    std::uint64_t calls = 0;
    for (const generator::BatchChange& change : scaled.changes) {
      calls += change.count;
    }
    batched.summary.push_back(
        fmt::format("rank {}: {} calls of {} operators have the shapes of {} {} in place of {}; "
                    "what is recorded of the host, gaps and times of issue, stays",
                    number, calls, scaled.changes.size(), batch.anywhere ? "size" : "batch",
                    batch.to, batch.from));
    for (const generator::BatchNote& note : scaled.notes) {
      batched.summary.push_back(
          fmt::format("rank {}, {} x {}: {}", number, note.count, note.name, note.note));
    }
    batched.programs.push_back(std::move(scaled.program));
    job.programs[i] = &batched.programs.back();
  }
  return batched;
}

std::string step_text(double ms, const std::optional<std::int64_t>& faults) {
  return fmt::format(
      "{} ms{}", et_schema::figure_text(ms),
      faults ? " with " + et_schema::counted(static_cast<std::uint64_t>(*faults), "page fault")
             : "");
}

/// Adds what of the recorded steps' time is predicted. A filter's device work is not, and neither
/// is work of a graphed run that the shown step lacks.
void add_account(const predictor::Job& recorded, et_schema::Prediction& prediction) {
  et_schema::Account account;
  for (const std::uint32_t number : recorded.program_of) {
    const et_schema::Program& program = *recorded.programs[number];
    const auto why_left = [&program](const et_schema::HeldTime& part) {
      const bool is_played =
          part.instruction != nullptr || part.device_ns == 0 ||
          std::ranges::any_of(program.device_work, [&part](const et_schema::DeviceWork& work) {
            return !work.instruction && to_string(work.why) == part.holder;
          });
      return std::string(is_played ? "" : part.holder);
    };
    et_schema::add_step(program, why_left, account);
  }
  prediction.account = account_rows(account);
}

/// Says what becomes of the recorded device time that no operator holds. Throws if too much of it
/// cannot be told on another card.
void account_for_unheld(const PredictArguments& arguments, const et_schema::Program& program,
                        const std::vector<predictor::UnheldTime>& times,
                        std::vector<std::string>& texts) {
  constexpr double kMostUnknown = 0.1;  // of the recorded step
  std::vector<std::string> carried;
  std::vector<std::string> unknown;
  double unknown_ms = 0;
  for (const predictor::UnheldTime& time : times) {
    (time.modelled ? carried : unknown)
        .push_back(fmt::format("{} ms of {}", et_schema::figure_text(time.recorded_ms), time.name));
    unknown_ms += time.modelled ? 0 : time.recorded_ms;
  }
  if (!carried.empty()) {
    texts.push_back(fmt::format(
        "device time of no operator {}: {}",
        arguments.recorded ? "is as recorded"
                           : "is carried to this card by the class of its kernels; communication "
                             "keeps its time",
        fmt::join(carried, ", ")));
  }
  const double step_ms = static_cast<double>(et_schema::recorded_step_ns(program)) * kMsPerNs;
  refuse_if(unknown_ms > kMostUnknown * step_ms && !arguments.recorded,
            "too much of the step's device time is of no operator",
            arguments.card.empty() ? "--platform" : "--card",
            fmt::format("at most a tenth of the step's {} ms in kernels without operator whose "
                        "class or card is not known",
                        et_schema::figure_text(step_ms)),
            fmt::format("{}", fmt::join(unknown, ", ")),
            "understudy predict --from-profile PROFILE --card CARD predicts each kernel's time",
            arguments.paths.front());
  if (!unknown.empty()) {
    texts.push_back(
        fmt::format("device time of no operator, whose class or card is not known, counts as "
                    "recorded, and the interval holds nothing to twice that: {}",
                    fmt::join(unknown, ", ")));
  }
}

/// Says how much of a simulator's work takes its recorded time on another card.
void add_kept_time(et_schema::Prediction& prediction) {
  double ms = 0;
  for (const et_schema::PredictedOperator& work : prediction.operators) {
    const bool is_kept =
        work.name.starts_with(et_schema::kTimedWork) && work.model == predictor::kAsRecorded;
    ms += is_kept ? work.ms.value : 0;
  }
  if (ms > 0) {
    prediction.assumptions.push_back(
        fmt::format("{}{} ms of work whose file tells a time and no FLOPs (num_ops): on this card "
                    "it takes what "
                    "it took",
                    predictor::kKeptTime, et_schema::figure_text(ms)));
  }
}

et_schema::PredictedMemory memory_of(const predictor::Job& job, const predictor::Card* card) {
  std::vector<et_schema::MemoryPlan> plans;
  for (const et_schema::Program* program : job.programs) {
    plans.push_back(et_schema::plan_step_memory(*program, 1));
  }
  const auto most = std::ranges::max_element(
      job.program_of, {}, [&plans](std::uint32_t program) { return plans[program].peak_bytes; });
  const et_schema::Program& program = *job.programs[*most];
  const et_schema::MemoryPlan& plan = plans[*most];
  et_schema::PredictedMemory memory{
      static_cast<int>(most - job.program_of.begin()), plan.peak_bytes,
      card == nullptr ? 0 : static_cast<std::uint64_t>(card->memory_bytes), plan.external_bytes};
  for (const et_schema::LiveTensor& each : plan.largest) {
    memory.largest =
        fmt::format("{} {} ({})", et_schema::with_bytes(each.bytes),
                    layout_text(program.slots[each.slot]), maker_text(program, plan, each));
  }
  return memory;
}

/// Says which network is assumed if nobody measured the job's, by an all-reduce of all ranks. The
/// interval then reaches to the step on the slowest network that it may be, since the critical path
/// does not show what communication hides behind other work.
void add_network(const PredictArguments& arguments, const predictor::Job& job, bool on_device,
                 const predictor::Costs& costs,
                 const std::function<double(const std::string&)>& iteration_ms_with,
                 et_schema::Prediction& prediction) {
  const int ranks = job.world_size();
  if (ranks < 2 || job.is_partial || arguments.recorded ||
      std::ranges::find(prediction.classes, "communication", &et_schema::PredictedSum::name) ==
          prediction.classes.end()) {
    return;
  }
  const predictor::GroupComm call{{.bytes = 1 << 28,
                                   .ranks = ranks,
                                   .nodes = (ranks - 1) / job.ranks_per_node + 1,
                                   .on_device = on_device}};
  const predictor::Estimate time = costs.of_communication(call);
  const bool assumes_nodes = arguments.assumes_nodes && call.nodes > 1;
  if (time.modelled && !assumes_nodes) {
    return;
  }
  const double link_bytes =
      predictor::link_bytes(call.kind, static_cast<double>(call.bytes), call.ranks);
  const std::string known = !arguments.network.empty() ? arguments.network
                            : time.modelled            ? "measured"
                                            : time.model.substr(0, time.model.rfind(": "));
  std::string text = fmt::format(
      "{}{} a node{}; {} ranks all-reduce 256 MiB at {} GB/s ({}{})", predictor::kNetwork,
      et_schema::counted(static_cast<std::uint64_t>(job.ranks_per_node), "rank"),
      assumes_nodes ? " (no --ranks-per-node)" : "", ranks,
      et_schema::figure_text(link_bytes / time.ns), time.modelled ? "" : "assumed: ", known);
  if (!time.modelled) {
    const double slow_ms = iteration_ms_with(fmt::format("network x{:g}", time.high_ns / time.ns));
    const auto& [ms, low_ms, high_ms] = prediction.iteration_ms;
    const double more_ms2 = (slow_ms - high_ms) * (slow_ms + high_ms - 2 * ms);
    predictor::widen("the network", 0, std::sqrt(std::max(more_ms2, 0.0)), prediction);
    text += fmt::format("{}; {} ms a step with {} GB/s, which the interval holds",
                        known.ends_with("one node") ? ", between nodes at best" : "",
                        et_schema::figure_text(slow_ms),
                        et_schema::figure_text(link_bytes / time.high_ns));
  }
  prediction.assumptions.push_back(text);
}

/// Adds the assumptions besides those of the costs.
void add_assumptions(const PredictArguments& arguments, const predictor::Job& recorded,
                     const std::optional<generator::ScaledWorld>& world,
                     std::vector<std::string>& texts) {
  const auto& profile = recorded.program(0).profile;
  if (arguments.recorded && profile && profile->profiled_step_ns) {
    texts.push_back(fmt::format(
        "recorded times are taken from the profiled step, {}, to the unprofiled one, {}",
        step_text(et_schema::profiled_step_ms(*profile), profile->profiled_minor_faults),
        step_text(static_cast<double>(profile->step_ns) * kMsPerNs, profile->minor_faults)));
  }
  if (world) {
    texts.push_back(world_text(arguments, *world));
  }
}

}  // namespace

PredictedStep predict_step(const PredictArguments& arguments, Progress& progress) {
  const et_schema::Bench bench = read_or_compile(arguments, progress);
  refuse_scaled(arguments, bench);
  progress.show("matching the ranks");
  predictor::Job recorded = predictor::job_of(bench);
  recorded.ranks_per_node = arguments.ranks_per_node;
  std::optional<generator::ScaledWorld> world;
  predictor::Job job = recorded;
  if (resizes(arguments.world, bench)) {
    world = generator::with_world_size(bench, arguments.world, ask_sizes());
    job = job_of(*world, recorded);
  }
  const BatchedJob batched = arguments.batch ? take_batch(*arguments.batch, job) : BatchedJob();
  const std::deque<et_schema::Program> of_ranks = predictor::split_ranks(job, arguments.what_if);
  const ChosenCosts chosen(arguments, job);
  const predictor::Costs& costs = chosen.costs();
  if (arguments.recorded && !world) {
    job.start_ns = predictor::recorded_start_times(job);
  }

  progress.show("simulating");
  const bool has_questions = !arguments.what_if.empty();
  predictor::Simulation simulation = predictor::simulate(job, costs, arguments.options);
  const double plain_ms = simulation.iteration_ns * kMsPerNs;
  predictor::AskedCosts known;
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    known.emplace(job.programs[i], simulation.costs[i]);
  }
  et_schema::Prediction played;  // of the recorded steps; else empty
  if (!world && !arguments.batch) {
    played = predictor::prediction_of(job, simulation);
    predictor::add_recorded_steps(job, simulation, played);
  }
  std::vector<et_schema::PredictedChange> changes;
  const std::vector<predictor::WhatIf> asked =
      predictor::about_ranks(job, simulation, arguments.what_if);
  const predictor::WhatIfCosts asked_costs(costs, asked, &known);
  if (has_questions) {
    changes = predictor::changes_of(job, simulation, asked);
    simulation = predictor::simulate(job, asked_costs, arguments.options);
  }

  PredictedStep step;
  et_schema::Prediction& prediction = step.prediction;
  prediction = predictor::prediction_of(job, simulation);
  prediction.tool_version = et_schema::kToolVersion;
  const std::filesystem::path first = arguments.paths.front();  // a folder may end with a slash
  prediction.benchmark = (first.has_filename() ? first : first.parent_path()).filename().string();
  prediction.benchmark_hash = et_schema::benchmark_hash(bench);
  prediction.platform = chosen.platform();
  if (const auto& profile = recorded.program(0).profile; profile && !profile->device.name.empty()) {
    prediction.platform[predictor::kRecordedOn] = predictor::recorded_card_name(profile->device);
  }
  prediction.disturbance =
      arguments.recorded ? et_schema::disturbance_text(bench.programs) : std::string();
  prediction.assumptions = chosen.assumptions();
  if (const std::string doubts = pages::doubts_of(bench); !doubts.empty()) {
    prediction.assumptions.push_back(std::string(predictor::kDoubts) + doubts);
  }
  add_assumptions(arguments, recorded, world, prediction.assumptions);
  if (arguments.recorded && !world && !job.is_partial && job.world_size() > 1 &&
      job.start_ns.empty()) {
    prediction.assumptions.emplace_back(predictor::kNoClocks);
  }
  add_kept_time(prediction);
  add_account(recorded, prediction);
  prediction.memory = memory_of(job, chosen.card());
  const std::uint32_t slowest = job.program_of[static_cast<std::size_t>(prediction.slowest_rank)];
  const auto iteration_ms_with = [&](const std::string& question) {
    std::vector<predictor::WhatIf> questions = asked;
    questions.push_back(predictor::parse_what_if(question));
    predictor::SimulateOptions options = arguments.options;
    options.spans = false;  // the time alone is asked for
    const predictor::WhatIfCosts changed(costs, std::move(questions), &known);
    return predictor::simulate(job, changed, options).iteration_ns * kMsPerNs;
  };
  if (!arguments.recorded && simulation.flows[slowest].on_device) {
    prediction.free_host_ms = iteration_ms_with("host x0");
  }
  add_network(arguments, job, simulation.flows[slowest].on_device, costs, iteration_ms_with,
              prediction);
  if (job.is_partial) {
    prediction.assumptions.push_back(
        fmt::format("{}{}: each runs alone, the others arrive when it does; --world-size N has "
                    "others do as these",
                    predictor::kPartOfJob, bench.recorded_world_size()));
  }
  if (generator::is_of_fake_group(bench.groups)) {
    prediction.assumptions.push_back(fmt::format(
        "{}recorded under torch's fake group, so the original's time is without communication",
        predictor::kNetwork));
  }
  account_for_unheld(arguments, *job.programs[slowest],
                     predictor::unheld_times(*job.programs[slowest], simulation.costs[slowest],
                                             simulation.outside[slowest]),
                     prediction.assumptions);
  std::vector<std::string>& texts = prediction.assumptions;
  texts.insert(texts.end(), batched.summary.begin(), batched.summary.end());
  if (has_questions) {
    prediction.without_what_if_ms = plain_ms;
    prediction.what_if = std::move(changes);
  } else {
    for (std::size_t i = 0; i < played.ranks.size(); ++i) {
      prediction.ranks[i].recorded_step = played.ranks[i].recorded_step;
    }
  }
  if (arguments.recorded) {
    predictor::widen_by_recorded_steps(recorded, played.ranks, prediction);
    predictor::widen_by_observer(recorded, prediction);
  }
  std::vector<const et_schema::Program*> ranks;
  for (const std::uint32_t program : job.program_of) {
    ranks.push_back(job.programs[program]);
  }
  prediction.work = predictor::step_work(ranks, prediction.iteration_ms.value, chosen.card());
  if (!arguments.explain.empty() && chosen.card() != nullptr) {
    prediction.explained =
        explained(arguments.explain, *job.programs[slowest], *chosen.card(), prediction);
  }
  if (!arguments.trace.empty() || arguments.format == Format::kHtml) {
    step.trace = predictor::chrome_trace(job, simulation);
  }
  return step;
}

}  // namespace understudy::cli
