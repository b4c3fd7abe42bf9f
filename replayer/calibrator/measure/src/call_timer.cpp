#include "call_timer.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>

#include "rinse.h"

namespace understudy::calibrator {
namespace {

constexpr std::size_t kMostEvictedBytes = std::size_t{192} << 20U;

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

}  // namespace

CpuUse CpuUse::now() {
  constexpr double kNano = 1e9;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return {static_cast<double>(time.tv_sec) * kNano + static_cast<double>(time.tv_nsec),
          usage.ru_nivcsw};
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

void CallTimer::built(const replayer::Step&) {
  before_ = is_alone_ ? CpuUse::now() : CpuUse();
  begin_ = Clock::now();
}

void CallTimer::called(const replayer::Step&, const torch::jit::Stack& stack) {
  ns_ = std::chrono::duration<double, std::nano>(Clock::now() - begin_).count();
  const CpuUse after = is_alone_ ? CpuUse::now() : CpuUse();
  if (after.preemptions != before_.preemptions) {
    ns_ = std::min(ns_, after.ns - before_.ns);
  }
  for (const c10::IValue& value : stack) {
    for_each_tensor(value, [this](const at::Tensor& tensor) {
      if (outputs_ != nullptr && tensor.defined()) {
        outputs_->push_back(describe(tensor));
      }
      if (evicts_) {
        evict_tensor(tensor);
      }
    });
  }
  outputs_ = nullptr;
}

}  // namespace understudy::calibrator
