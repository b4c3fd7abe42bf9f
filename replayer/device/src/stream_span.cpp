#include "replayer/device/stream_span.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

#include "cuda_driver.h"
#include "replayer/device/device.h"
#include "stream_span_ptx.h"

namespace understudy::replayer {
namespace {

using LaunchFunction = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, void*, void**, void**);

/// The kernels; null if the driver lacks one of the functions, or does not accept the kernels.
struct SpanKernels {
  void* note = nullptr;
  void* wait = nullptr;
  LaunchFunction* launch = nullptr;

  static const SpanKernels& loaded() {
    static const SpanKernels kernels = load();
    return kernels;
  }

 private:
  static SpanKernels load() {
    auto* const load_module = cuda_driver().function<int(void**, const void*)>("cuModuleLoadData");
    auto* const get =
        cuda_driver().function<int(void**, void*, const char*)>("cuModuleGetFunction");
    auto* const launch = cuda_driver().function<LaunchFunction>("cuLaunchKernel");
    SpanKernels kernels;
    void* loaded_module = nullptr;
    if (load_module != nullptr && get != nullptr && launch != nullptr &&
        load_module(&loaded_module, kStreamSpanPtx) == 0 &&
        get(&kernels.note, loaded_module, "understudy_note") == 0 &&
        get(&kernels.wait, loaded_module, "understudy_wait") == 0) {
      kernels.launch = launch;
    }
    return kernels;
  }
};

void launch_alone(void* kernel, c10::Device device, void** arguments) {
  const int status = SpanKernels::loaded().launch(kernel, 1, 1, 1, 1, 1, 1, 0,
                                                  native_stream(device), arguments, nullptr);
  TORCH_CHECK(status == 0, "cuLaunchKernel failed with status ", status, " of CUDA's driver");
}

}  // namespace

std::unique_ptr<StreamSpan> StreamSpan::make(c10::Device device) {
  if (!device.is_cuda() || SpanKernels::loaded().launch == nullptr) {
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
