#include "calibrator/measure/caller.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <unordered_set>
#include <utility>

#include "backends/backend.h"
#include "complete.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/support/error.h"
#include "evict.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/decisions.h"
#include "replayer/bind/externals.h"
#include "replayer/measure/speed_probe.h"
#include "replayer/memory/heap.h"
#include "replayer/run/run.h"
#include "replayer/run/trial.h"

namespace understudy::calibrator {
namespace {

using Clock = std::chrono::steady_clock;
using et_schema::InstructionTime;
using et_schema::TimedConditions;

const std::vector<replayer::BoundGroup>& alone() {
  static const std::vector<replayer::BoundGroup> groups = {{"world", 0, 1}};
  return groups;
}

/// Values that operators change in place are restored after so many calls.
constexpr std::size_t kCallsBetweenRestores = 8;
/// What is larger leaves the caches by itself.
constexpr std::size_t kMostEvictedBytes = std::size_t{192} << 20U;
constexpr double kSecondsBetweenProbes = 0.25;

void evict_tensor(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.device().is_cpu()) {
    return;
  }
  const std::size_t bytes = tensor.storage().nbytes();
  if (bytes <= kMostEvictedBytes) {
    evict(tensor.storage().data(), bytes);
  }
}

template <typename Visitor>
void for_each_tensor(const c10::IValue& value, Visitor&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      visit(tensor);
    }
  }
}

et_schema::TimedTensor describe(const at::Tensor& tensor) {
  et_schema::TimedTensor timed;
  timed.dtype = static_cast<et_schema::DType>(tensor.scalar_type());
  timed.device = {et_schema::DeviceType::kCpu, -1};
  timed.sizes = tensor.sizes().vec();
  if (tensor.layout() == at::kStrided) {
    timed.strides = tensor.strides().vec();
  }
  return timed;
}

/// Times the call alone, as a replay's timing passes do.
class CallTimer : public replayer::NoHook {
 public:
  void built(const replayer::Step&) { begin_ = Clock::now(); }
  void called(const replayer::Step&, const torch::jit::Stack& stack) {
    ns_ = std::chrono::duration<double, std::nano>(Clock::now() - begin_).count();
    if (outputs_ != nullptr) {
      for (const c10::IValue& value : stack) {
        for_each_tensor(value, [this](const at::Tensor& tensor) {
          if (tensor.defined()) {
            outputs_->push_back(describe(tensor));
          }
        });
      }
      outputs_ = nullptr;
    }
    if (evicts_) {
      for (const c10::IValue& value : stack) {
        for_each_tensor(value, evict_tensor);
      }
    }
  }
  void note_outputs(std::vector<et_schema::TimedTensor>& outputs) { outputs_ = &outputs; }
  void set_evicts(bool evicts) { evicts_ = evicts; }
  [[nodiscard]] double ns() const { return ns_; }

 private:
  Clock::time_point begin_;
  double ns_ = 0;
  bool evicts_ = false;
  std::vector<et_schema::TimedTensor>* outputs_ = nullptr;
};

/// A call that is bound and has run once.
class BoundCall {
 public:
  BoundCall(const et_schema::Program& program, backends::Backend& backend, std::uint64_t seed)
      : program_(program),
        decisions_(program_, {c10::Device(c10::kCPU), false, replayer::Only::kAll}),
        machine_(program_, backend),
        externals_(program_, c10::Device(c10::kCPU), seed) {
    replayer::Trial trial(decisions_, machine_, externals_, backend, alone(), true);
    bound_ = trial.run().program;
  }

  /// Empty if it runs as it is.
  [[nodiscard]] std::string refusal() {
    const replayer::Decision& decision = decisions_.of(program_.instructions.front());
    if (decision.how == replayer::How::kDirect && bound_.steps.size() == 1) {
      return {};
    }
    return decision.note.empty() ? "it does not run as it is" : decision.note;
  }

  void prepare() {
    externals_.restore();
    externals_.place(machine_.slots(), machine_.given());
    machine_.prime(bound_);
    externals_.remember(bound_);
  }

  void restore() {
    externals_.restore();
    externals_.place(machine_.slots(), machine_.given());
    machine_.prime(bound_);
  }

  double run(CallTimer& timer) {
    machine_.run(bound_, timer);
    return timer.ns();
  }

  void evict_inputs() {
    for (const et_schema::SlotId slot : bound_.externals) {
      evict_tensor(machine_.slots()[slot]);
    }
  }

  [[nodiscard]] const at::Tensor& tensor(et_schema::SlotId slot) { return machine_.slots()[slot]; }

 private:
  const et_schema::Program& program_;
  replayer::Decisions decisions_;
  replayer::Machine machine_;
  replayer::Externals externals_;
  replayer::BoundProgram bound_;
};

/// Of an operator with a table and indices into it.
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
  const at::Tensor values = bound.tensor(index_slot->id).contiguous().to(at::kLong);
  const auto* const data = values.const_data_ptr<std::int64_t>();
  lookups.lookups = values.numel();
  lookups.unique = static_cast<std::int64_t>(
      std::unordered_set<std::int64_t>(data, data + values.numel()).size());
  return lookups;
}

/// "aten::add.Tensor": the name, and behind its point the overload.
void set_name(const Call& call, InstructionTime& row) {
  const std::string_view name = et_schema::operator_name(call.schema);
  const std::size_t point = name.find('.');
  row.name = name.substr(0, point);
  row.overload = point == std::string_view::npos ? "" : name.substr(point + 1);
}

struct Samples {
  std::vector<double> cold_ns;
  std::vector<double> warm_ns;
};

Samples sample(BoundCall& call, const TimingLimits& limits) {
  CallTimer timer;
  Samples samples;
  call.restore();
  timer.set_evicts(true);
  constexpr double kNano = 1e9;
  constexpr double kSlowNs = 0.25 * kNano;
  // Code and heap settle.
  const std::size_t least = call.run(timer) > kSlowNs ? 1 : limits.least;
  double spent_ns = 0;
  while (samples.cold_ns.size() < least ||
         (samples.cold_ns.size() < limits.most && spent_ns < limits.seconds * kNano)) {
    if (samples.cold_ns.size() % kCallsBetweenRestores == 0) {
      call.restore();
    }
    call.evict_inputs();
    timer.set_evicts(false);
    samples.cold_ns.push_back(call.run(timer));
    timer.set_evicts(true);
    samples.warm_ns.push_back(call.run(timer));
    spent_ns += samples.cold_ns.back() + samples.warm_ns.back();
  }
  return samples;
}

}  // namespace

/// What has to be in force while calls run, and what is known of the machine's speed.
struct Caller::Session {
  at::AutoGradMode grad_mode{true};
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::unique_ptr<backends::Backend> backend = backends::make_single_backend({});
  struct Probe {
    Clock::time_point at;
    double ms = 0;
  };
  std::map<int, Probe> probes;  ///< by threads
};

Caller::Caller(Options options)
    : options_(std::move(options)), session_(std::make_unique<Session>()) {
  replayer::HeapPages::keep_heap();
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

std::variant<std::vector<InstructionTime>, Refusal> Caller::time(Call call) {
  if (std::string problem = complete(call); !problem.empty()) {
    return Refusal{std::move(problem)};
  }
  const et_schema::Program program = make_program(call);
  try {
    at::set_num_threads(options_.threads.front());
    BoundCall bound(program, *session_->backend, options_.seed);
    if (std::string problem = bound.refusal(); !problem.empty()) {
      return Refusal{std::move(problem)};
    }
    bound.prepare();
    InstructionTime row;
    set_name(call, row);
    row.op_class = et_schema::op_class(et_schema::operator_name(call.schema));
    row.inputs = et_schema::timed_tensors(program, program.instructions.front().args);
    CallTimer outputs;
    outputs.note_outputs(row.outputs);
    static_cast<void>(bound.run(outputs));
    TimedConditions conditions;
    conditions.call = to_text(call);
    conditions.lookups = lookups_of(call, bound);
    for (const CallTensor& tensor : call.tensors) {
      conditions.zeros = std::max(conditions.zeros, tensor.zeros);
    }
    std::vector<InstructionTime> rows;
    for (const int threads : options_.threads) {
      at::set_num_threads(threads);
      conditions.threads = threads;
      conditions.speed_probe_ms = probe_ms(threads);
      Samples samples = sample(bound, options_.limits);
      for (const bool is_cold : {true, false}) {
        conditions.is_cold = is_cold;
        row.conditions = conditions;
        row.host = *et_schema::time_stats(std::move(is_cold ? samples.cold_ns : samples.warm_ns));
        rows.push_back(row);
      }
    }
    return rows;
  } catch (const et_schema::Error& error) {
    return Refusal{error.summary()};
  } catch (const std::exception& exception) {
    const std::string_view text = exception.what();
    return Refusal{std::string(text.substr(0, text.find('\n')))};
  }
}

}  // namespace understudy::calibrator
