#include "cold_calls.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
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

template <typename Visitor>
void for_each_tensor(const torch::jit::Stack& stack, Visitor&& visit) {
  for (const c10::IValue& value : stack) {
    if (value.isTensor()) {
      visit(value.toTensor());
    } else if (value.isTensorList()) {
      std::ranges::for_each(value.toTensorVector(), visit);
    }
  }
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

}  // namespace

ColdCalls::ColdCalls(Machine& machine, BoundProgram& bound, c10::Device device)
    : warm_s(bound.steps.size()),
      warm_device_ms(bound.steps.size()),
      outputs(bound.steps.size()),
      machine_(machine),
      bound_(bound),
      device_(device),
      is_alone_(device.is_cpu() && at::get_num_threads() == 1),
      others_{at::ones({64, 64}),         at::ones({16, 64}),     at::ones({64}),
              at::ones({1024}),           at::ones({1024}),       at::ones({1024}, at::kBool),
              at::zeros({64}, at::kLong), at::ones({1, 4, 9, 9}), at::ones({1, 4, 8, 8}),
              at::ones({4, 4, 3, 3})},
      swept_(
          at::zeros({swept_bytes(device)}, at::TensorOptions().dtype(at::kByte).device(device))) {}

void ColdCalls::evict_arguments() {
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
  for_each_tensor(machine_.stack(), evict_tensor);
  // Last: as in a step, what the tensors' memory holds is cold, but not the tensors themselves.
  kept_ = machine_.stack();
}

void ColdCalls::run_others() {
  const auto& [matrix, rows, row, numbers, ones, mask, indices, image, pooled, filter] = others_;
  static_cast<void>(at::mm(matrix, matrix.t()));
  static_cast<void>(at::native_layer_norm(rows, row.sizes(), row, row, 1e-5));
  static_cast<void>(at::_softmax(rows, 1, false));
  static_cast<void>(at::cat({rows, rows}, 1));
  static_cast<void>(at::gelu(rows));
  static_cast<void>(at::sum(rows, {0}));
  static_cast<void>(at::index_select(matrix, 0, indices));
  numbers.addcdiv_(ones, ones, 0);
  numbers.view({32, 32}).copy_(ones.view({32, 32}).t());
  static_cast<void>(at::where(mask, numbers, ones));
  static_cast<void>(at::max_pool2d_with_indices(image, {3, 3}, {2, 2}, {1, 1}));
  static_cast<void>(at::convolution_backward(pooled, pooled, filter, {{0}}, {1, 1}, {1, 1}, {1, 1},
                                             false, {0, 0}, 1, {true, true, false}));
}

void ColdCalls::release(std::size_t step) {
  if (bound_.steps[step].source->results.empty() && outputs[step].empty()) {
    for_each_tensor(kept_, [&](const at::Tensor& tensor) {
      if (tensor.defined()) {
        outputs[step].push_back(describe(tensor));
      }
    });
  }
  for_each_tensor(kept_, evict_tensor);  // the next cold call may get their memory
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
