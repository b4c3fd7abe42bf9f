// What the run loop costs in addition to the operators themselves: a program of small operators
// through Machine::run, against a bare C++ loop that makes the same boxed calls with the same
// handles on stacks that were built before. Passes of both alternate; the figures are medians.

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "et_schema/base/statistics.h"
#include "program_builder.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/externals.h"
#include "replayer/run/run.h"

namespace understudy::replayer::testing {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr int kLayers = 250;
constexpr int kPasses = 201;

/// Builds chains of operators as training steps have them: binary, unary, view, in-place and
/// foreach.
void build(ProgramBuilder& builder) {
  const SlotId weight = builder.external(DType::kFloat32, {2, 2}, constant(0.5));
  const SlotId bias = builder.external(DType::kFloat32, {2}, constant(0.5));
  SlotId x = builder.external(DType::kFloat32, {2, 2}, constant(0.5));
  for (int i = 0; i < kLayers; ++i) {
    const SlotId product = builder.intermediate(DType::kFloat32, {2, 2});
    const SlotId row = builder.view(product, {4}, {1}, 0);
    const SlotId square = builder.view(product, {2, 2}, {2, 1}, 0);
    const SlotId next = builder.intermediate(DType::kFloat32, {2, 2});
    builder.add_op(kMul, {ref(x), ref(weight)}, {ref(product)});
    builder.add_op("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
                   {ref(product), numbers({4})}, {ref(row)});
    builder.add_op("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
                   {ref(row), numbers({2, 2})}, {ref(square)});
    builder.add_op(kAddInPlace, {ref(square), ref(bias), number(1)}, {ref(square)});
    builder.add_op(kRelu, {ref(square)}, {ref(next)});
    builder.add_op("aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
                   {list({ref(weight), ref(bias), ref(next)}), real(1.0)}, {});
    x = next;
  }
}

/// The same calls with nothing around them: handles and ready stacks in two arrays.
class BareLoop {
 public:
  /// Runs the program once and copies each operator's stack before its call.
  BareLoop(BoundProgram& bound, Machine& machine) {
    for (const Step& step : bound.steps) {
      machine.build<true>(bound, step);
      handles_.push_back(*step.handle);
      stacks_.push_back(copy(machine.stack()));
      machine.call(bound, step);
      machine.store(bound, step);
      machine.clear(bound, step);
      machine.drop_kept(bound, step);
      machine.drop(bound, step);
    }
  }

  void run() {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      stack_ = stacks_[i];
      handles_[i].callBoxed(stack_);
    }
    stack_.clear();
  }

 private:
  /// Copies a stack with new lists: those of the program are emptied after each call.
  static torch::jit::Stack copy(const torch::jit::Stack& stack) {
    torch::jit::Stack result;
    for (const c10::IValue& value : stack) {
      result.push_back(value.isTensorList() ? c10::IValue(value.toTensorList().copy()) : value);
    }
    return result;
  }

  std::vector<c10::OperatorHandle> handles_;
  std::vector<torch::jit::Stack> stacks_;
  torch::jit::Stack stack_;
};

template <typename Body>
double time_ns(Body body) {
  const Clock::time_point begin = Clock::now();
  body();
  return Nanoseconds(Clock::now() - begin).count();
}

void run() {
  at::set_num_threads(1);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  ProgramBuilder builder;
  build(builder);
  const auto backend = backends::make_single_backend({});
  const c10::Device cpu(c10::kCPU);
  Decisions decisions(builder.program(), {cpu, Only::kAll});
  BoundProgram bound = bind_program(decisions, {});
  Externals externals(builder.program(), cpu, 0);
  externals.ensure(bound);
  Machine machine(builder.program(), *backend);
  externals.place(machine.slots(), machine.given());
  machine.prime(bound);
  machine.run(bound);
  BareLoop bare(bound, machine);
  bare.run();

  std::vector<double> loops;
  std::vector<double> bares;
  std::vector<double> overheads;
  const auto steps = static_cast<double>(bound.steps.size());
  for (int i = 0; i < kPasses; ++i) {
    loops.push_back(time_ns([&] { machine.run(bound); }) / steps);
    bares.push_back(time_ns([&] { bare.run(); }) / steps);
    overheads.push_back(loops.back() - bares.back());
  }
  fmt::print(
      "run loop: {:.0f} ns an operator, bare loop: {:.0f} ns, above it: {:.0f} ns; "
      "{} operators, median of {} passes\n",
      *et_schema::median(loops), *et_schema::median(bares), *et_schema::median(overheads),
      bound.steps.size(), kPasses);
}

}  // namespace
}  // namespace understudy::replayer::testing

int main() {
  understudy::replayer::testing::run();
}
