#include "replayer/device/device_graph.h"

#include <c10/util/Exception.h>

#include <new>
#include <type_traits>
#include <utility>

#include "loaded_function.h"
#include "replayer/device/device.h"

namespace understudy::replayer {
namespace {

// Members of at::cuda::CUDAGraph (LibTorch 2.8 and later), whose header needs CUDA's headers.
constexpr const char* kMake = "_ZN2at4cuda9CUDAGraphC1Eb";
constexpr const char* kBegin =
    "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode";
constexpr const char* kEnd = "_ZN2at4cuda9CUDAGraph11capture_endEv";
constexpr const char* kPool = "_ZN2at4cuda9CUDAGraph4poolEv";
constexpr const char* kCaptured = "_ZN2at4cuda9CUDAGraph14raw_cuda_graphEv";
constexpr const char* kLaunch = "_ZN2at4cuda9CUDAGraph6replayEv";

constexpr std::size_t kObjectBytes = 4096;  // many times the object's size
constexpr std::align_val_t kAlignment{64};

constexpr int kThreadLocal = 1;  // cudaStreamCaptureModeThreadLocal: other threads may do anything

using Pool = std::pair<unsigned long long, unsigned long long>;  // c10::MempoolId_t

template <typename Result, typename... Parameters>
Result call_loaded(const char* name, std::type_identity_t<Parameters>... arguments) {
  auto* const function = loaded_function<Result(Parameters...)>(name);
  TORCH_CHECK(function != nullptr, "LibTorch or CUDA's runtime has no ", name);
  return function(arguments...);
}

/// Drops LibTorch's warning about a graph without work, which views alone give.
class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

}  // namespace

bool DeviceGraph::is_available() {
  return loaded_function<void()>(kMake) != nullptr && loaded_function<void()>(kBegin) != nullptr;
}

void DeviceGraph::Destroy::operator()(void* graph) const {
  call_loaded<void, void*>("_ZN2at4cuda9CUDAGraphD1Ev", graph);
  ::operator delete(graph, kAlignment);
}

DeviceGraph::DeviceGraph(c10::Device device, const DeviceGraph* pool_of) : device_(device) {
  const Pool pool =
      pool_of == nullptr ? Pool() : call_loaded<Pool, void*>(kPool, pool_of->graph_.get());
  void* const memory = ::operator new(kObjectBytes, kAlignment);
  call_loaded<void, void*, bool>(kMake, memory, true);  // keeps what it captured, for nodes()
  graph_.reset(memory);
  call_loaded<void, void*, Pool, int>(kBegin, memory, pool, kThreadLocal);
}

void DeviceGraph::end() {
  NoWarnings none;
  const c10::WarningUtils::WarningHandlerGuard guard(&none);
  call_loaded<void, void*>(kEnd, graph_.get());
  // replay() does it in older versions alone.
  call_loaded<void, void*>("_ZN2at4cuda9CUDAGraph11instantiateEv", graph_.get());
}

/// A failed capture_end() leaves LibTorch's allocator in the capture. So the stream's capture is
/// ended past LibTorch, and an empty one is begun in its place that capture_end() can end.
void DeviceGraph::abandon() {
  void* const stream = native_stream(device_);
  void* captured = nullptr;
  call_loaded<int, void*, void**>("cudaStreamEndCapture", stream, &captured);
  if (captured != nullptr) {
    call_loaded<int, void*>("cudaGraphDestroy", captured);
  }
  call_loaded<int>("cudaGetLastError");  // LibTorch would find it after its next kernel
  call_loaded<int, void*, int>("cudaStreamBeginCapture", stream, kThreadLocal);
  end();
}

std::size_t DeviceGraph::nodes() const {
  std::size_t count = 0;
  const int status = call_loaded<int, void*, void**, std::size_t*>(
      "cudaGraphGetNodes", call_loaded<void*, void*>(kCaptured, graph_.get()), nullptr, &count);
  TORCH_CHECK(status == 0, "cudaGraphGetNodes failed with status ", status);
  return count;
}

void DeviceGraph::launch() {
  call_loaded<void, void*>(kLaunch, graph_.get());
}

}  // namespace understudy::replayer
