#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>

/// Captures of streams into graphs. As CUDA does, a capture fails for good once the host waits for
/// a captured stream or event, or makes a call that a capture does not permit.
namespace played_cuda::capture {

/// Makes a kernel, copy or fill of `ns` nanoseconds part of the stream's capture. `effect` runs at
/// each launch of the graph. Returns nothing if the stream is not captured.
[[nodiscard]] std::optional<cudaError_t> take(cudaStream_t stream, double ns,
                                              std::function<void()> effect = {});
/// Returns an error, and ends the capture's hope, if the stream, event or this thread is captured.
[[nodiscard]] cudaError_t wait_for_stream(cudaStream_t stream);
[[nodiscard]] cudaError_t wait_for_event(cudaEvent_t event);
[[nodiscard]] cudaError_t unsafe_call();

/// An event recorded in a captured stream brings streams that wait for it into the capture.
void record(cudaEvent_t event, cudaStream_t stream);
void join(cudaStream_t stream, cudaEvent_t event);

/// In runtime.cpp: a graph's node runs on the stream, behind what was launched before it.
void run_node(cudaStream_t stream, double ns, bool is_first);

}  // namespace played_cuda::capture
