#include "replayer/calibrator/measure/caller.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <unordered_set>
#include <utility>

#include "bound_call.h"
#include "call_timer.h"
#include "device_sampler.h"
#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/op_class.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/counters/perf.h"
#include "replayer/device/device.h"
#include "replayer/measure/speed_probe.h"
#include "replayer/memory/heap.h"
#include "replayer/run/run_error.h"
#include "rinse.h"

namespace understudy::calibrator {
namespace {

using Clock = std::chrono::steady_clock;
using et_schema::MeasuredCall;
using et_schema::TimedConditions;

constexpr double kSecondsBetweenProbes = 0.25;

/// Returns the lookups of an operator with a table and indices into it; otherwise nothing.
std::optional<TimedConditions::Lookups> lookups_of(const Call& call, BoundCall& bound) {
  if (et_schema::op_class(call.schema) != "embedding") {
    return std::nullopt;
  }
  const int indices = et_schema::argument_index(call.schema, "indices");
  const int weight = et_schema::argument_index(call.schema, "weight");
  const int rows = et_schema::argument_index(call.schema, "num_weights");
  const auto slot_of = [&](int argument) -> const et_schema::Argument::SlotRef* {
    return argument < 0 ? nullptr
                        : std::get_if<et_schema::Argument::SlotRef>(
                              &call.args[static_cast<std::size_t>(argument)].value);
  };
  const auto* const index_slot = slot_of(indices);
  if (index_slot == nullptr || !is_integral(call.tensors[index_slot->id].layout.dtype)) {
    return std::nullopt;
  }
  TimedConditions::Lookups lookups;
  if (const auto* const table = slot_of(weight)) {
    lookups.rows = call.tensors[table->id].layout.sizes.front();
  } else if (rows >= 0) {
    const auto* const number =
        std::get_if<std::int64_t>(&call.args[static_cast<std::size_t>(rows)].value);
    lookups.rows = number == nullptr ? 0 : *number;
  }
  const at::Tensor values = bound.tensor(index_slot->id).cpu().contiguous().to(at::kLong);
  const auto* const data = values.const_data_ptr<std::int64_t>();
  lookups.lookups = values.numel();
  lookups.unique = static_cast<std::int64_t>(
      std::unordered_set<std::int64_t>(data, data + values.numel()).size());
  return lookups;
}

struct Samples {
  std::vector<double> cold_ns;
  std::vector<double> warm_ns;
  std::map<std::string, double> cold_counters;
};

Samples sample(BoundCall& call, Rinse& rinse, replayer::CounterSource& counting,
               const TimingLimits& limits, int threads) {
  CallTimer timer(threads);
  Samples samples;
  call.restore();
  timer.set_evicts(true);
  Repetitions repetitions(call, limits, call.run(timer));  // the first call warms up code and heap
  while (repetitions.next()) {
    rinse.run();
    call.evict_inputs();
    timer.set_evicts(false);
    samples.cold_ns.push_back(call.run(timer));
    timer.set_evicts(true);
    samples.warm_ns.push_back(call.run(timer));
    repetitions.spend(samples.cold_ns.back() + samples.warm_ns.back());
  }
  rinse.run();
  call.evict_inputs();
  CallCounter counter(counting);
  call.run(counter);
  samples.cold_counters = counter.take();
  return samples;
}

}  // namespace

/// The settings that must be in force while calls run, and the measured speed of the machine.
struct Caller::Session {
  at::AutoGradMode grad_mode{true};
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::unique_ptr<backends::Backend> backend = backends::make_single_backend({});
  Rinse rinse{*backend};
  replayer::PerfSource counting;
  struct Probe {
    Clock::time_point at;
    double ms = 0;
  };
  std::map<int, Probe> probes;  ///< by number of threads
  std::optional<DeviceSampler> on_device;
};

Caller::Caller(Options options)
    : options_(std::move(options)), session_(std::make_unique<Session>()) {
  replayer::HeapPages::keep_heap();
  if (!options_.device.is_cpu()) {
    options_.threads = {1};
    session_->on_device.emplace(options_.device);
  }
}

Caller::~Caller() = default;

double Caller::probe_ms(int threads) {
  Session::Probe& probe = session_->probes[threads];
  const std::chrono::duration<double> age = Clock::now() - probe.at;
  if (probe.ms == 0 || age.count() > kSecondsBetweenProbes) {
    probe.ms = replayer::speed_probe_ms();
    probe.at = Clock::now();
  }
  return probe.ms;
}

std::variant<std::vector<MeasuredCall>, Refusal> Caller::time(Call call) {
  if (std::string problem = complete(call); !problem.empty()) {
    return Refusal{std::move(problem)};
  }
  try {
    at::set_num_threads(options_.threads.front());
    BoundCall bound(make_program(call), *session_->backend, options_.seed, options_.device);
    const et_schema::Program& program = bound.program();
    if (std::string problem = bound.refusal(); !problem.empty()) {
      return Refusal{std::move(problem)};
    }
    bound.prepare();
    MeasuredCall row;
    row.call = et_schema::operator_call(program, program.instructions.front());
    row.op_class = et_schema::op_class(et_schema::operator_name(call.schema));
    CallTimer outputs(1);
    outputs.note_outputs(row.call.outputs);
    static_cast<void>(bound.run(outputs));
    TimedConditions conditions;
    conditions.call = to_text(call);
    conditions.lookups = lookups_of(call, bound);
    for (const CallTensor& tensor : call.tensors) {
      conditions.zeros = std::max(conditions.zeros, tensor.zeros);
    }
    row.conditions = std::move(conditions);
    return session_->on_device ? time_on_device(bound, std::move(row))
                               : time_on_host(bound, std::move(row));
  } catch (const et_schema::Error& error) {
    replayer::finish_iteration(options_.device);
    return Refusal{error.summary()};
  } catch (const std::exception& exception) {
    replayer::finish_iteration(options_.device);  // throws if the device is lost
    const std::string_view text = exception.what();
    return Refusal{std::string(text.substr(0, text.find('\n')))};
  }
}

std::vector<MeasuredCall> Caller::time_on_host(BoundCall& bound, MeasuredCall row) {
  std::vector<MeasuredCall> rows;
  for (const int threads : options_.threads) {
    at::set_num_threads(threads);
    row.conditions->threads = threads;
    row.conditions->speed_probe_ms = probe_ms(threads);
    Samples samples = sample(bound, session_->rinse, session_->counting, options_.limits, threads);
    for (const bool is_cold : {true, false}) {
      row.conditions->is_cold = is_cold;
      row.host = *et_schema::time_stats(std::move(is_cold ? samples.cold_ns : samples.warm_ns));
      row.counters = is_cold ? samples.cold_counters : std::map<std::string, double>();
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<MeasuredCall> Caller::time_on_device(BoundCall& bound, MeasuredCall row) {
  DeviceSamples samples = session_->on_device->sample(bound, options_.limits);
  row.conditions->threads = options_.threads.front();
  row.host = *et_schema::time_stats(std::move(samples.host_ns));
  std::vector<MeasuredCall> rows;
  for (const bool is_cold : {true, false}) {
    row.conditions->is_cold = is_cold;
    row.on_device = et_schema::time_stats(std::move(is_cold ? samples.cold_ns : samples.warm_ns));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace understudy::calibrator
