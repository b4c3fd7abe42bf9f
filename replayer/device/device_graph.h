#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <memory>

namespace understudy::replayer {

/// A CUDA graph, captured and launched by LibTorch (at::cuda::CUDAGraph). It is captured from the
/// current stream, which must not be the device's default stream. Member functions throw c10::Error
/// if the device or LibTorch reports an error.
class DeviceGraph {
 public:
  /// Returns true if the loaded LibTorch has CUDA graphs in the form that this build knows.
  [[nodiscard]] static bool is_available();

  /// Begins the capture: until end() or abandon(), work issued to the stream becomes part of the
  /// graph and does not run, and its memory comes from the graph's pool. With `pool_of`, the graph
  /// uses that graph's pool, and both must be launched in the order in which they were captured.
  explicit DeviceGraph(c10::Device device, const DeviceGraph* pool_of = nullptr);
  void end();
  /// Ends a capture that failed, or whose end() threw. LibTorch's allocator and generators are then
  /// ready for another capture.
  void abandon();

  /// Returns the number of kernels, copies and fills. Must be called after end().
  [[nodiscard]] std::size_t nodes() const;
  /// Launches the graph on the current stream.
  void launch();

 private:
  struct Destroy {
    void operator()(void* graph) const;
  };

  c10::Device device_;
  std::unique_ptr<void, Destroy> graph_;
};

}  // namespace understudy::replayer
