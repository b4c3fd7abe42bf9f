#include "replayer/job/replay.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

#include "et_schema/model/op_class.h"
#include "et_schema/model/original_step.h"
#include "et_schema/model/threads.h"
#include "et_schema/model/unrecorded.h"
#include "rank_comms.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/decisions.h"
#include "replayer/bind/externals.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"
#include "replayer/device/kernel_settings.h"
#include "replayer/device/placement.h"
#include "replayer/dispatch/layout.h"
#include "replayer/job/rank_gpus.h"
#include "replayer/measure/checksums.h"
#include "replayer/measure/measure.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/memory_limit.h"
#include "replayer/run/crash.h"
#include "replayer/run/graphs.h"
#include "replayer/run/run.h"
#include "replayer/run/streams.h"
#include "replayer/run/trial.h"
#include "time_limit.h"

namespace understudy::replayer {
namespace {

using et_schema::Bench;

std::vector<BoundGroup> make_groups(const Bench& bench, backends::Communicator& communicator) {
  std::vector<BoundGroup> groups;
  for (std::size_t i = 0; i < bench.groups.size(); ++i) {
    const et_schema::ProcessGroup& group = bench.groups[i];
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    BoundGroup bound;
    bound.name = group.name;
    bound.size = ranks.empty() ? bench.recorded_world_size() : static_cast<int>(ranks.size());
    bound.id = i == 0 ? 0 : communicator.make_group(group.name, ranks);
    groups.push_back(std::move(bound));
  }
  return groups;
}

/// Returns the number of cores per rank of this host.
int share_of_cores(backends::Job& job) {
  const std::vector<std::string> hosts = job.all_gather_text(job.host());
  const auto here = std::count(hosts.begin(), hosts.end(), job.host());
  const auto cores = static_cast<long>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(std::max(1L, cores / std::max(1L, static_cast<long>(here))));
}

/// Returns the target of page faults per iteration; nothing if they are not controlled.
std::optional<std::uint64_t> wanted_faults(const et_schema::Program& program) {
  if (!program.profile) {
    return std::nullopt;
  }
  const std::optional<std::int64_t>& faults = program.profile->minor_faults;
  return faults ? std::optional(static_cast<std::uint64_t>(*faults)) : std::nullopt;
}

MeasureOptions measure_options(const et_schema::Program& program, const ReplayOptions& options,
                               c10::Device device) {
  MeasureOptions measure{options, device, wanted_faults(program)};
  if (options.until_percent) {
    measure.asked.seconds = options.seconds.value_or(kUntilSeconds);
  } else if (!options.iterations && !options.seconds) {
    measure.asked.iterations = kDefaultIterations;
    measure.asked.seconds = kDefaultSeconds;
  }
  return measure;
}

/// Memory of a replay beside its tensors: threads, containers, scratch memory of libraries.
constexpr std::uint64_t kBesideTensors = std::uint64_t{4} << 30U;
constexpr std::uint64_t kMostLimit = std::uint64_t{1} << 50U;  // more is no limit

/// Returns the number of the original's threads that multiplied matrices.
std::size_t product_threads(const et_schema::Program& program) {
  std::set<std::uint64_t> threads;
  for (const et_schema::Instruction& instruction : program.instructions) {
    if (et_schema::op_class(instruction.name) == "matmul") {
      threads.insert(instruction.thread);
    }
  }
  return threads.size();
}

/// Sets LibTorch's default floating type for its lifetime.
class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType dtype) : before_(c10::get_default_dtype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtype() { c10::set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;
  DefaultDtype(DefaultDtype&&) = delete;
  DefaultDtype& operator=(DefaultDtype&&) = delete;

 private:
  caffe2::TypeMeta before_;
};

void add_settings(RankRun& run, const std::string& kind, const Settings& settings) {
  for (const auto& [name, value] : settings) {
    run.settings[kind + name] = value;
  }
}

}  // namespace

RankRun replay_rank(const Bench& bench, int rank, backends::Backend& backend,
                    const ReplayOptions& options) {
  const et_schema::Program recorded = bench.programs.of(static_cast<std::size_t>(rank));
  RankRun run;
  const Settings own = own_variables();
  add_settings(run, "variable.", own);
  if (recorded.profile) {
    add_settings(run, "variable.", apply_variables(recorded.profile->variables));
  }
  const c10::Device device = open_device(options.device, backends::launched_local_rank());
  if (device.is_cuda()) {
    refuse_shared_gpu(backend, options.device, device);
  }
  const std::vector<std::string> counters =
      options.counters.empty() ? options.counters
                               : chosen_counters(options.counters, open_counter_sources(device));
  run.device = device_text(device);
  run.threads = options.threads > 0 ? options.threads : share_of_cores(backend);
  at::set_num_threads(run.threads);
  if (recorded.profile) {
    add_settings(run, "kernel.", apply_kernel_settings(recorded.profile->kernel_settings, own));
  }
  const bool moves = moves_to(device, recorded);
  run.settings["place"] = moves ? "device" : "recorded";
  run.settings["device"] = options.device;
  const et_schema::DType floats = et_schema::default_dtype(recorded);
  const DefaultDtype default_dtype(to_scalar_type(floats));
  if (floats != et_schema::DType::kFloat32) {
    run.settings["default_dtype"] = et_schema::to_string(floats);
  }
  seed_generators(device, options.seed);
  run.versions["torch"] = TORCH_VERSION;
  count_cpu_allocations();

  // The program includes the backward operators. Grad mode stays on, as in training: some operators
  // save data for their backward only in grad mode (recurrent layers their workspace).
  const at::AutoGradMode grad_mode(true);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;

  const et_schema::Program program = et_schema::with_slots_by_thread(
      moves ? move_to_device(recorded) : recorded, et_schema::recorded_threads(recorded).beside);
  check_pace(program, options.pace);
  check_streams(program, device, options.streams);
  // Ranks must run equally many iterations, and graphs take some of their own.
  const std::vector<std::string> graphs =
      backend.all_gather_text(uses_graphs(program, device, options) ? "on" : "off");
  const bool is_graphed = std::ranges::count(graphs, "off") == 0;
  if (is_graphed) {
    run.settings["streams"] = to_string(Streams::kGraph);
  }
  check_memory(program, device, options.memory_limit_bytes);
  if (options.memory_limit_bytes && device.is_cpu()) {
    limit_cpu_allocations(*options.memory_limit_bytes);
    // Copies that restore content, and tables that are mapped on demand, do not count as tensors.
    limit_own_memory(2 * std::min(*options.memory_limit_bytes, kMostLimit) + kBesideTensors +
                     mapped_bytes(program, device));
  }
  if (device.is_cpu() && wanted_faults(program)) {
    HeapPages::keep_heap();
  }
  et_schema::AllowedOperators allowed = options.allowed_operators;
  allowed.insert(options.library_operators.begin(), options.library_operators.end());
  Decisions decisions(program, {device, options.only, std::move(allowed), options.comm_times_ns});
  RankComms comms(bench, rank, backend, options, device);
  if (!comms.path().empty()) {
    run.settings["comms"] = comms.path();
  }
  // This Open MPI setting decides if waiting ranks yield their core (scripts/mpirun).
  if (const char* yields = std::getenv("OMPI_MCA_mpi_yield_when_idle");
      yields != nullptr && backend.world_size() > 1) {
    run.settings["mpi_yield_when_idle"] = yields;
  }
  if (comms.devices() != nullptr) {
    run.versions[comms.devices()->name()] = comms.devices()->version();
  }
  const std::vector<BoundGroup> groups = make_groups(bench, comms.communicator());
  // A profile alone does not tell tensors for certain, so a call may fail that did not.
  const bool is_inferred = program.losses[et_schema::Loss::kExternalTensors] > 0 ||
                           program.losses[et_schema::Loss::kInferredTensors] > 0;
  const auto trial_of = [&](Machine& on, Externals& with) {
    return Trial(decisions, on, with, backend, groups, options.continue_on_error || is_inferred,
                 options.only == Only::kCompute ? et_schema::CommOrder() : options.comm_order,
                 device, options.monitor);
  };
  name_crashes();
  run.report.rank = bench.recorded_rank(static_cast<std::size_t>(rank));
  run.report.original = et_schema::original_step(
      program,
      [&](const et_schema::Instruction& instruction) { return decisions.is_counted(instruction); });
  run.report.original.doubts =
      et_schema::device_doubts(bench.programs, static_cast<std::size_t>(rank));
  open_product_handles(device, product_threads(program));
  if (options.guards_memory && device.is_cpu()) {
    const GuardedAllocations guarded;
    Machine machine(program, comms.communicator());
    Externals externals(program, device, options.seed);
    static_cast<void>(trial_of(machine, externals).run());
    seed_generators(device, options.seed);
  }
  Machine machine(program, comms.communicator());
  Externals externals(program, device, options.seed);
  Trial trial = trial_of(machine, externals);
  TrialResult first = trial.run();
  if (!options.timeout_s) {
    const double limit_s =
        default_time_limit_s(program, options, first.first_iteration_ms.value_or(0), backend);
    backend.set_time_limit(limit_s);
    comms.set_time_limit(limit_s);
  }
  run.report.startup_ms =
      std::chrono::duration<double, std::milli>(trial.first_start() - options.started).count();
  run.report.first_iteration_ms = first.first_iteration_ms;
  run.report.outputs_checked = first.outputs_checked;
  run.report.output_mismatches = first.output_mismatches;
  run.report.mismatches = std::move(first.mismatches);
  et_schema::Losses losses = program.losses;
  losses += first.program.losses;
  losses.add(et_schema::Loss::kFilteredOperators, decisions.filtered());
  run.report.losses = losses.nonzero();
  run.report.coverage = decisions.coverage();

  if (options.checksums) {
    run.checksums =
        take_checksums(program, first.program, machine, externals, device, options.seed);
  }
  MeasureOptions measure = measure_options(program, options, device);
  measure.asked.counters = counters;
  if (is_graphed) {
    measure.asked.streams = Streams::kGraph;
  }
  std::vector<OpenedSource> sources;
  measure.open_sources = [&] {
    sources = open_counter_sources(device);
    return std::span(sources);
  };
  Measurement measurement(program, first.program, machine, externals, backend, measure);
  measurement.run(run.report);
  sources.clear();  // CUPTI's would be in the way of a profile
  et_schema::add_recorded_counters(program, run.report.operators);
  if (!options.trace.empty()) {
    run.trace = measurement.profiled_step(run.report.rank);
  }
  run.instruction_times = measurement.take_instruction_times();
  for (et_schema::MeasuredCall& row : run.instruction_times) {
    row.rank = run.report.rank;
  }
  return run;
}

}  // namespace understudy::replayer
