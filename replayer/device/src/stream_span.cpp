#include "replayer/device/stream_span.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

#include "replayer/cuda/driver.h"
#include "replayer/device/device.h"
#include "stream_span_ptx.h"

namespace understudy::replayer {
namespace {

/// The kernels; null if the driver lacks a function or rejects the kernels.
struct SpanKernels {
  void* note = nullptr;
  void* wait = nullptr;

  [[nodiscard]] bool are_loaded() const { return note != nullptr && wait != nullptr; }
  static const SpanKernels& loaded() {
    static const SpanKernels kernels = load();
    return kernels;
  }

 private:
  static SpanKernels load() {
    const CudaDriver& driver = cuda_driver();
    SpanKernels kernels;
    void* loaded_module = nullptr;
    if (driver.load_module && driver.get_function && driver.launch &&
        driver.load_module(&loaded_module, kStreamSpanPtx) == 0 &&
        driver.get_function(&kernels.note, loaded_module, "understudy_note") == 0 &&
        driver.get_function(&kernels.wait, loaded_module, "understudy_wait") == 0) {
      return kernels;
    }
    return {};
  }
};

void launch_alone(void* kernel, c10::Device device, void** arguments) {
  const int status =
      cuda_driver().launch(kernel, 1, 1, 1, 1, 1, 1, 0, native_stream(device), arguments, nullptr);
  TORCH_CHECK(status == 0, "cuLaunchKernel failed with status ", status, " of CUDA's driver");
}

}  // namespace

std::unique_ptr<StreamSpan> StreamSpan::make(c10::Device device) {
  if (!device.is_cuda() || !SpanKernels::loaded().are_loaded()) {
    return nullptr;
  }
  StreamSpan span;
  span.device_ = device;
  span.noted_ = device_block(device, sizeof(std::int64_t));
  return span.noted_ ? std::make_unique<StreamSpan>(std::move(span)) : nullptr;
}

void StreamSpan::begin() const {
  void* noted = noted_.mutable_data();
  std::array<void*, 1> arguments = {&noted};
  launch_alone(SpanKernels::loaded().note, device_, arguments.data());
}

void StreamSpan::end(std::int64_t duration_ns) const {
  void* noted = noted_.mutable_data();
  auto ns = static_cast<std::uint64_t>(duration_ns);
  std::array<void*, 2> arguments = {&noted, &ns};
  launch_alone(SpanKernels::loaded().wait, device_, arguments.data());
}

}  // namespace understudy::replayer
