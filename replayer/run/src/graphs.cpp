#include "replayer/run/graphs.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/statistics.h"
#include "et_schema/facts/operator_facts.h"
#include "replayer/device/device_graph.h"
#include "replayer/dispatch/layout.h"
#include "replayer/run/run_error.h"

namespace understudy::replayer {

using c10::impl::VirtualGuardImpl;

namespace {

/// Returns what does not go with graphs; null if nothing does not.
const char* obstacle(c10::Device device, const ReplayOptions& options) {
  return !device.is_cuda()                 ? "--device cpu"
         : !DeviceGraph::is_available()    ? "a LibTorch without CUDAGraph"
         : options.pace == Pace::kRecorded ? "--pace recorded"
         : options.slow                    ? "--slow"
                                           : nullptr;
}

/// Calls `visit` with each slot that a step reads or writes.
template <typename Visit>
void for_each_slot_of(const BoundProgram& bound, const Step& step, Visit visit) {
  if (step.source != nullptr) {
    et_schema::for_each_slot(step.source->args, visit);
    et_schema::for_each_slot(step.source->results, visit);
  } else if (step.kind == StepKind::kAlias || step.kind == StepKind::kGive) {
    visit(step.index);
    if (step.kind == StepKind::kAlias) {
      visit(bound.entries[step.entries.begin].index);
    }
  }
}

}  // namespace

bool uses_graphs(const et_schema::Program& program, c10::Device device,
                 const ReplayOptions& options) {
  const bool is_recorded = program.profile && !program.profile->graph_run.empty();
  const bool is_asked = options.streams == Streams::kGraph;
  const bool is_wanted = is_asked || (!options.streams && is_recorded);
  const char* const found = is_wanted ? obstacle(device, options) : nullptr;
  if (is_asked && found != nullptr) {
    throw et_schema::usage_error(
        "the iteration cannot run as CUDA graphs",
        {.field = "--streams graph",
         .expected =
             "--device cuda, LibTorch 2.8 or later, and no pace or slowdown of single operators",
         .got = found,
         .hint = "A graph issues all of its operators at once: leave one of the options out."});
  }
  return is_wanted && found == nullptr;
}

GraphedIteration::GraphedIteration(const et_schema::Program& program, BoundProgram& bound,
                                   Machine& machine, c10::Device device)
    : program_(program),
      bound_(bound),
      machine_(machine),
      device_(device),
      stream_before_(VirtualGuardImpl(device.type()).getStream(device)),
      why_(bound.steps.size()) {
  const VirtualGuardImpl guard(device_.type());
  guard.exchangeStream(guard.getNewStream(device_));
}

GraphedIteration::~GraphedIteration() {
  VirtualGuardImpl(device_.type()).exchangeStream(stream_before_);
}

void GraphedIteration::issue(const Step& step) {
  NoHook hook;
  machine_.run_step(bound_, step, hook);
}

/// Returns the reason that is known before a step is tried; empty if none is.
std::string GraphedIteration::reason_before(const Step& step) const {
  if (step.kind == StepKind::kStart || step.kind == StepKind::kJoin) {
    return "the host starts communication and watches it";
  }
  bool has_tensor = false;
  bool is_sparse = false;
  bool is_on_device = !step.does_work();
  for_each_slot_of(bound_, step, [&](SlotId slot) {
    const et_schema::Storage& storage = program_.storages[program_.slots[slot].storage];
    has_tensor = true;
    is_sparse = is_sparse || program_.slots[slot].sparse;
    is_on_device = is_on_device || map_device(storage.device, device_) == device_;
  });
  return is_sparse                     ? "a sparse tensor's memory differs in each iteration"
         : has_tensor && !is_on_device ? "it runs on the CPU"
                                       : "";
}

void GraphedIteration::try_steps() {
  pool_ = std::make_unique<DeviceGraph>(device_);
  pool_->end();
  for (std::size_t i = 0; i < bound_.steps.size(); ++i) {
    why_[i] = reason_before(bound_.steps[i]);
    if (why_[i].empty() && bound_.steps[i].does_work()) {
      try_alone(bound_.steps[i], why_[i]);
    }
    issue(bound_.steps[i]);
  }
}

std::unique_ptr<DeviceGraph> GraphedIteration::captured(const std::function<void()>& work) {
  auto graph = std::make_unique<DeviceGraph>(device_, pool_.get());
  try {
    work();
    graph->end();
  } catch (...) {
    machine_.clear(bound_, *machine_.failed_step());
    graph->abandon();
    throw;
  }
  return graph;
}

void GraphedIteration::try_alone(const Step& step, std::string& why) {
  machine_.set_failed_step(&step);
  try {
    const auto graph = captured([&] {
      machine_.build<true>(bound_, step);
      machine_.call(bound_, step);
    });
    machine_.clear(bound_, step);
  } catch (const std::exception& failure) {
    if (is_out_of_memory(failure)) {
      throw;
    }
    why = step.handle && step.handle->hasTag(at::Tag::dynamic_output_shape)
              ? "the host waits for values that decide its results' sizes"
          : et_schema::operator_facts(step.source->name).host_wait != et_schema::HostWait::kNone
              ? "the host waits for the device"
              : cause_of(failure);
  }
}

void GraphedIteration::keep_tensors(Part& part) const {
  for_each_slot_of(bound_, *part.step, [&](SlotId id) {
    const et_schema::Slot& slot = program_.slots[id];
    if (const at::Tensor& tensor = machine_.slots()[id];
        tensor.defined() && is_in_graphs_[slot.storage] && !slot.external && !slot.sparse) {
      part.tensors[id] = tensor;
    }
  });
}

void GraphedIteration::capture() {
  is_in_graphs_.assign(program_.storages.size(), false);
  for (std::size_t i = 0; i < bound_.steps.size(); ++i) {
    if (why_[i].empty()) {
      for_each_slot_of(bound_, bound_.steps[i],
                       [&](SlotId slot) { is_in_graphs_[program_.slots[slot].storage] = true; });
    }
  }
  for (std::size_t i = 0; i < bound_.steps.size();) {
    if (why_[i].empty()) {
      i = capture_from(i);
      continue;
    }
    Part& part = parts_.emplace_back(nullptr, &bound_.steps[i++]);
    keep_tensors(part);
    issue(*part.step);
    keep_tensors(part);
  }
}

/// Captures and launches consecutive steps. Returns the index of the step behind them.
std::size_t GraphedIteration::capture_from(std::size_t begin) {
  std::size_t end = begin;
  std::unique_ptr<DeviceGraph> graph = captured([&] {
    for (; end < why_.size() && why_[end].empty(); ++end) {
      issue(bound_.steps[end]);
    }
  });
  if (const std::size_t nodes = graph->nodes(); nodes > 0) {  // views alone need no launch
    graph->launch();
    ++use_.graphs;
    use_.launches_saved += nodes - 1;
    parts_.push_back({std::move(graph)});
  }
  return end;
}

/// Results of steps outside of the graphs are copied to the memory that graphs read.
void GraphedIteration::run() {
  for (const Part& part : parts_) {
    if (part.graph != nullptr) {
      part.graph->launch();
      continue;
    }
    for (const auto& [slot, tensor] : part.tensors) {
      machine_.slots()[slot] = tensor;
    }
    issue(*part.step);
    for (const auto& [slot, tensor] : part.tensors) {
      const at::Tensor made = std::exchange(machine_.slots()[slot], at::Tensor());
      if (made.defined() && made.has_storage() && !made.is_alias_of(tensor)) {
        tensor.copy_(made);
      }
    }
  }
}

void GraphedIteration::release() {
  parts_.clear();
  pool_.reset();
}

et_schema::GraphUse GraphedIteration::use(const std::vector<std::vector<double>>& device_ms) const {
  et_schema::GraphUse use = use_;
  double all_ms = 0;
  double in_graphs_ms = 0;
  std::map<std::pair<std::string, std::string>, et_schema::NamedCount> outside;
  for (std::size_t i = 0; i < bound_.steps.size(); ++i) {
    const double ms = i < device_ms.size() ? et_schema::median(device_ms[i]).value_or(0) : 0;
    all_ms += ms;
    in_graphs_ms += why_[i].empty() ? ms : 0;
    if (!bound_.steps[i].does_work()) {
      continue;
    }
    const std::string& name = bound_.steps[i].source->name;
    if (why_[i].empty()) {
      ++use.captured;
    } else {
      ++outside.try_emplace({name, why_[i]}, et_schema::NamedCount{name, 0, why_[i]})
            .first->second.count;
    }
  }
  use.device_share = all_ms > 0 ? std::optional(in_graphs_ms / all_ms) : std::nullopt;
  use.prevented = et_schema::largest_first(std::move(outside), &et_schema::NamedCount::count);
  return use;
}

}  // namespace understudy::replayer
