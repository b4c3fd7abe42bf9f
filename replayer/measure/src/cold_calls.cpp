#include "cold_calls.h"

#include <ATen/Parallel.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>

#include "et_schema/base/processor.h"
#include "replayer/device/device.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace understudy::replayer {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kMostEvictedBytes = std::size_t{192} << 20U;

/// Returns the bytes whose sweep empties the caches that have no other eviction: a core's own ones
/// twice, which hold code, too; more than any GPU's second-level cache.
std::int64_t swept_bytes(c10::Device device) {
  constexpr std::int64_t kUsual = std::int64_t{1} << 20U;
  constexpr std::int64_t kOfGpus = std::int64_t{256} << 20U;
  const std::int64_t told = et_schema::cache_bytes(2);
  return device.is_cpu() ? 2 * (told > 0 ? told : kUsual) : kOfGpus;
}

et_schema::TensorLayout describe(const at::Tensor& tensor) {
  et_schema::TensorLayout timed{static_cast<et_schema::DType>(tensor.scalar_type()),
                                tensor.sizes().vec()};
  timed.device = et_schema::parse_device(tensor.device().str());
  if (tensor.layout() == at::kStrided) {
    timed.strides = tensor.strides().vec();
    drop_contiguous_strides(timed);
  } else {
    timed.strides.assign(timed.sizes.size(), 0);  // as in traces, for tensors of other layouts
    if (tensor.layout() == at::kSparse) {
      timed.stored = tensor._values().numel();
    }
  }
  return timed;
}

#if defined(__x86_64__)
void evict_line(const char* line) {
  _mm_clflush(line);
}
void finish() {
  _mm_mfence();
}
#elif defined(__aarch64__)
void evict_line(const char* line) {
  asm volatile("dc civac, %0" : : "r"(line) : "memory");
}
void finish() {
  asm volatile("dsb ish" : : : "memory");
}
#endif

/// Returns small calls of other kinds. They take the run loop's own way, as those of a step do:
/// otherwise the code on that way would be colder than there.
std::vector<std::pair<Step, torch::jit::Stack>> other_calls() {
  using Sizes = std::vector<std::int64_t>;
  const at::Tensor matrix = at::ones({64, 64});
  const at::Tensor rows = at::ones({16, 64});
  const at::Tensor row = at::ones({64});
  const at::Tensor numbers = at::ones({1024});
  const at::Tensor image = at::ones({1, 4, 9, 9});
  const at::Tensor pooled = at::ones({1, 4, 8, 8});
  const Sizes one = {1, 1};
  std::vector<std::pair<Step, torch::jit::Stack>> calls;
  const auto add = [&calls](const char* name, const char* overload, torch::jit::Stack arguments) {
    calls.emplace_back(Step(), std::move(arguments)).first.handle =
        c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  };
  add("aten::mm", "", {matrix, matrix.t()});
  add("aten::native_layer_norm", "", {rows, Sizes{64}, row, row, 1e-5});
  add("aten::_softmax", "", {rows, 1, false});
  add("aten::cat", "", {c10::List<at::Tensor>({rows, rows}), 1});
  add("aten::gelu", "", {rows, "none"});
  add("aten::sum", "dim_IntList", {rows, Sizes{0}, false, c10::IValue()});
  add("aten::index_select", "", {matrix, 0, at::zeros({64}, at::kLong)});
  add("aten::addcdiv_", "", {numbers, numbers.clone(), numbers.clone(), 0.0});
  add("aten::copy_", "", {matrix.clone(), matrix.t(), false});
  add("aten::where", "self", {at::ones({1024}, at::kBool), numbers, numbers});
  add("aten::max_pool2d_with_indices", "", {image, Sizes{3, 3}, Sizes{2, 2}, one, one, false});
  add("aten::convolution_backward", "",
      {pooled, pooled, at::ones({4, 4, 3, 3}), Sizes{0}, one, one, one, false, Sizes{0, 0}, 1,
       std::vector<bool>{true, true, false}});
  return calls;
}

}  // namespace

ColdCalls::ColdCalls(Machine& machine, BoundProgram& bound, c10::Device device)
    : warm_s(bound.steps.size()),
      warm_device_ms(bound.steps.size()),
      outputs(bound.steps.size()),
      machine_(machine),
      bound_(bound),
      device_(device),
      is_alone_(device.is_cpu() && at::get_num_threads() == 1),
      others_(other_calls()),
      swept_(
          at::zeros({swept_bytes(device)}, at::TensorOptions().dtype(at::kByte).device(device))) {}

void ColdCalls::evict_arguments(const Step& step) {
  if (!device_.is_cpu()) {
    kept_ = machine_.stack();
    swept_.zero_();  // also keeps the device busy while the host issues the call
    return;
  }
  run_others();
  auto* const bytes = static_cast<unsigned char*>(swept_.data_ptr());
  for (std::size_t at = 0; at < swept_.nbytes(); at += kLineBytes) {
    asm volatile("" : : "r"(++bytes[at]) : "memory");
  }
  for (const c10::IValue& argument : machine_.stack()) {
    for_each_tensor(argument, evict_tensor);
  }
  // Last: as in a step, whose loop has just built the stack, what the tensors' memory holds is
  // cold, but neither the tensors themselves nor what the loop knows of the step.
  kept_ = machine_.stack();
  asm volatile("" : : "r"(step.kind), "r"(step.handle.has_value()) : "memory");
}

void ColdCalls::run_others() {
  for (const auto& [step, arguments] : others_) {
    kept_ = arguments;
    machine_.call(bound_, step, kept_);
    kept_.clear();
  }
}

void ColdCalls::release(std::size_t step) {
  const bool tells = bound_.steps[step].source->results.empty() && outputs[step].empty();
  for (const c10::IValue& result : kept_) {
    for_each_tensor(result, [&](const at::Tensor& tensor) {
      if (tells && tensor.defined()) {
        outputs[step].push_back(describe(tensor));
      }
      evict_tensor(tensor);  // the next cold call may get its memory
    });
  }
  kept_.clear();
}

ColdCalls::CpuUse ColdCalls::cpu_use() {
  constexpr double kNano = 1e-9;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return {static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * kNano,
          usage.ru_nivcsw};
}

void ColdCalls::begin() {
  before_ = is_alone_ ? cpu_use() : CpuUse();
  begin_ = std::chrono::steady_clock::now();
}

double ColdCalls::end_s() const {
  if (!device_.is_cpu()) {
    synchronize_stream(device_);
  }
  const double spent_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const CpuUse after = is_alone_ ? cpu_use() : CpuUse();
  return after.preemptions == before_.preemptions ? spent_s
                                                  : std::min(spent_s, after.s - before_.s);
}

void evict(const void* memory, std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  const auto* const begin = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
    evict_line(begin + at);
  }
  evict_line(begin + bytes - 1);
  finish();
}

void evict_tensor(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.device().is_cpu()) {
    return;
  }
  const std::size_t bytes = tensor.storage().nbytes();
  const void* const memory = tensor.storage().data();
  if (memory != nullptr && bytes <= kMostEvictedBytes) {  // tensors of zeros may have no memory
    evict(memory, bytes);
  }
}

}  // namespace understudy::replayer
