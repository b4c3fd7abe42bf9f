#pragma once

#include <cuda_runtime_api.h>

#include <functional>

/// Work of the host in streams (cudaLaunchHostFunc), which stands in them until it is done, as a
/// communication that waits for other ranks. All else that is issued behind it waits for it.
namespace played_cuda::queues {

/// Calls `work` now, or behind what stands in the stream.
void run(cudaStream_t stream, std::function<void()> work);
/// Calls `work` on the stream's own thread.
void push(cudaStream_t stream, std::function<void()> work);
/// Whether something stands in the stream.
[[nodiscard]] bool is_busy(cudaStream_t stream);
void wait(cudaStream_t stream);
void wait_for_all();

/// The event is reached when the stream comes to it.
void record(cudaEvent_t event, cudaStream_t stream);
[[nodiscard]] bool is_reached(cudaEvent_t event);
void wait(cudaEvent_t event);
/// The stream goes on when the event is reached.
void follow(cudaStream_t stream, cudaEvent_t event);
void forget(cudaEvent_t event);

}  // namespace played_cuda::queues
