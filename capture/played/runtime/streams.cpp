// Streams and events. Work is done when it is issued, so nothing waits but where a runner does.
#include "capture/played/driver/streams.h"

#include "capture/played/runtime/note.h"

namespace played {
namespace {

constexpr int kMostUrgent = -5;

Stream* stream_of(cudaStream_t stream) {
  return reinterpret_cast<Stream*>(stream);
}

Event& event_of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

CUresult make(cudaStream_t* stream, int priority) {
  return answer(stream, reinterpret_cast<cudaStream_t>(new Stream{priority}));
}

CUresult make(cudaEvent_t* event) {
  return answer(event, reinterpret_cast<cudaEvent_t>(new Event));
}

template <typename T>
CUresult destroy(T* made) {
  delete made;
  return CUDA_SUCCESS;
}

CUresult tell_priorities(int* least, int* most) {
  *least = 0;
  return answer(most, kMostUrgent);
}

/// The default streams are numbers.
int priority_of(cudaStream_t stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? 0 : stream_of(stream)->priority;
}

CUresult record(cudaEvent_t event, cudaStream_t stream) {
  record(event_of(event), stream);
  return call("cudaEventRecord", stream, &event_of(event).ns);
}

CUresult wait(cudaStream_t stream, cudaEvent_t event) {
  wait_for(stream, event_of(event));
  return call("cudaStreamWaitEvent", stream, &event_of(event).ns);
}

/// The host waits, or asks, for what it is `allowed` to.
CUresult wait(CUresult allowed, const char* function, cudaStream_t stream,
              long long* event_ns = nullptr) {
  return allowed == CUDA_SUCCESS ? call(function, stream, event_ns) : allowed;
}

CUresult wait(const char* function, cudaEvent_t event) {
  return wait(wait_on_host(event_of(event)), function, nullptr, &event_of(event).ns);
}

/// Between any two events that have no times: a compiler that chooses kernels by them must choose
/// the same again.
constexpr float kElapsedMs = 1;

float ms_between(const Event& begin, const Event& end) {
  constexpr float kNsOfMs = 1e6F;
  return end.ns == 0 ? kElapsedMs : static_cast<float>(end.ns - begin.ns) / kNsOfMs;
}

CUresult call_host(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const Work work{.kind = Kind::kCall, .name = "cudaLaunchHostFunc", .stream = stream};
  return issue({.work = work}, [=] {
    function(data);
    return CUDA_SUCCESS;
  });
}

}  // namespace

PLAYED_RUNTIME(cudaStreamCreate, (cudaStream_t * stream), make(stream, 0))
PLAYED_RUNTIME(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned), make(stream, 0))
PLAYED_RUNTIME(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned, int priority),
               make(stream, priority))
PLAYED_RUNTIME(cudaStreamDestroy, (cudaStream_t stream), destroy(stream_of(stream)))
PLAYED_RUNTIME(cudaStreamQuery, (cudaStream_t stream),
               wait(wait_on_host(stream), "cudaStreamQuery", stream))
PLAYED_RUNTIME(cudaStreamSynchronize, (cudaStream_t stream),
               wait(wait_on_host(stream), "cudaStreamSynchronize", stream))
PLAYED_RUNTIME(cudaDeviceSynchronize, (),
               wait(wait_for_all_on_host(), "cudaDeviceSynchronize", nullptr))
PLAYED_RUNTIME(cudaStreamGetPriority, (cudaStream_t stream, int* priority),
               answer(priority, priority_of(stream)))
PLAYED_RUNTIME(cudaDeviceGetStreamPriorityRange, (int* least, int* most),
               tell_priorities(least, most))
PLAYED_RUNTIME(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned),
               wait(stream, event))
PLAYED_RUNTIME(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
               call_host(stream, function, data))

PLAYED_RUNTIME(cudaEventCreate, (cudaEvent_t * event), make(event))
PLAYED_RUNTIME(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned), make(event))
PLAYED_RUNTIME(cudaEventDestroy, (cudaEvent_t event), destroy(&event_of(event)))
PLAYED_RUNTIME(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), record(event, stream))
PLAYED_RUNTIME(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned),
               record(event, stream))
PLAYED_RUNTIME(cudaEventQuery, (cudaEvent_t event), wait("cudaEventQuery", event))
PLAYED_RUNTIME(cudaEventSynchronize, (cudaEvent_t event), wait("cudaEventSynchronize", event))
PLAYED_RUNTIME(cudaEventElapsedTime, (float* ms, cudaEvent_t begin, cudaEvent_t end),
               answer(ms, ms_between(event_of(begin), event_of(end))))

}  // namespace played
