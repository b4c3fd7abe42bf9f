// Streams, events, captures and graphs. Work is done when it is issued, so nothing waits.
#include "capture/played/driver/streams.h"

#include <algorithm>

#include "capture/played/driver/launches.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

constexpr int kMostUrgent = -5;

/// The default streams are numbers.
bool is_made(cudaStream_t stream) {
  return reinterpret_cast<std::uintptr_t>(stream) > 2;
}

Stream* stream_of(cudaStream_t stream) {
  return reinterpret_cast<Stream*>(stream);
}

Event& event_of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

Graph* graph_of(cudaGraph_t graph) {
  return reinterpret_cast<Graph*>(graph);
}

Graph* graph_of(cudaGraphExec_t graph) {
  return reinterpret_cast<Graph*>(graph);
}

CUresult make_stream(cudaStream_t* stream, int priority) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream{std::clamp(priority, kMostUrgent, 0)});
  return CUDA_SUCCESS;
}

CUresult destroy_stream(cudaStream_t stream) {
  delete stream_of(stream);
  return CUDA_SUCCESS;
}

CUresult tell_priorities(int* least, int* most) {
  *least = 0;
  *most = kMostUrgent;
  return CUDA_SUCCESS;
}

CUresult tell_priority(int* priority, cudaStream_t stream) {
  *priority = is_made(stream) ? stream_of(stream)->priority : 0;
  return CUDA_SUCCESS;
}

CUresult make_event(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return CUDA_SUCCESS;
}

CUresult destroy_event(cudaEvent_t event) {
  delete &event_of(event);
  return CUDA_SUCCESS;
}

CUresult record_event(cudaEvent_t event, cudaStream_t stream, const char* function) {
  record(event_of(event), stream);
  return call(function);
}

CUresult wait_event(cudaStream_t stream, cudaEvent_t event) {
  wait_for(stream, event_of(event));
  return call("cudaStreamWaitEvent");
}

CUresult tell_elapsed(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  constexpr float kNsOfMs = 1e6F;
  *ms = static_cast<float>(event_of(end).ns - event_of(begin).ns) / kNsOfMs;
  return CUDA_SUCCESS;
}

CUresult call_back(cudaStream_t stream, cudaStreamCallback_t function, void* data) {
  function(stream, cudaSuccess, data);
  return CUDA_SUCCESS;
}

CUresult call_host(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return issue({.kind = Kind::kCall, .name = "cudaLaunchHostFunc", .stream = stream}, nullptr, [=] {
    function(data);
    return CUDA_SUCCESS;
  });
}

CUresult begin(cudaStream_t stream) {
  begin_capture(stream);
  return call("cudaStreamBeginCapture");
}

CUresult end(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(end_capture(stream));
  return *graph == nullptr ? CUDA_ERROR_ILLEGAL_STATE : call("cudaStreamEndCapture");
}

CUresult tell_capturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status =
      capture_of(stream) == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  return call("cudaStreamIsCapturing");
}

cudaGraphNode_t handle_of(const std::shared_ptr<const Node>& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node.get()));
}

template <typename T>
void answer(T* to, T value) {
  if (to != nullptr) {
    *to = value;
  }
}

CUresult tell_capture(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                      cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                      const cudaGraphEdgeData** edges, std::size_t* count) {
  static thread_local cudaGraphNode_t last;
  const auto capture = capture_of(stream);
  if (capture == nullptr) {
    *status = cudaStreamCaptureStatusNone;
    return CUDA_SUCCESS;
  }
  *status = cudaStreamCaptureStatusActive;
  const bool is_empty = capture->graph->nodes.empty();
  last = is_empty ? nullptr : handle_of(capture->graph->nodes.back());
  answer(id, capture->id);
  answer(graph, reinterpret_cast<cudaGraph_t>(capture->graph));
  answer(nodes, static_cast<const cudaGraphNode_t*>(&last));
  answer(edges, static_cast<const cudaGraphEdgeData*>(nullptr));
  answer(count, std::size_t{is_empty ? 0U : 1U});
  return CUDA_SUCCESS;
}

CUresult exchange_mode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;
  std::swap(*mode, now);
  return CUDA_SUCCESS;
}

CUresult tell_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const auto& all = graph_of(graph)->nodes;
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < std::min(*count, all.size()); ++i) {
      nodes[i] = handle_of(all[i]);
    }
  }
  *count = all.size();
  return CUDA_SUCCESS;
}

CUresult instantiate(cudaGraphExec_t* made, cudaGraph_t graph) {
  *made = reinterpret_cast<cudaGraphExec_t>(new Graph(*graph_of(graph)));
  return CUDA_SUCCESS;
}

CUresult destroy(Graph* graph) {
  delete graph;
  return CUDA_SUCCESS;
}

/// What graphs keep alive is kept for good.
CUresult keep(cudaUserObject_t* object) {
  static int the_object;
  *object = reinterpret_cast<cudaUserObject_t>(&the_object);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace played

PLAYED_RUNTIME(cudaStreamCreate, (cudaStream_t * stream), played::make_stream(stream, 0))
PLAYED_RUNTIME(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned),
               played::make_stream(stream, 0))
PLAYED_RUNTIME(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned, int priority),
               played::make_stream(stream, priority))
PLAYED_RUNTIME(cudaStreamDestroy, (cudaStream_t stream), played::destroy_stream(stream))
PLAYED_RUNTIME(cudaStreamQuery, (cudaStream_t), played::call("cudaStreamQuery"))
PLAYED_RUNTIME(cudaStreamSynchronize, (cudaStream_t), played::call("cudaStreamSynchronize"))
PLAYED_RUNTIME(cudaStreamGetPriority, (cudaStream_t stream, int* priority),
               played::tell_priority(priority, stream))
PLAYED_RUNTIME(cudaDeviceGetStreamPriorityRange, (int* least, int* most),
               played::tell_priorities(least, most))
PLAYED_RUNTIME(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned),
               played::wait_event(stream, event))
PLAYED_RUNTIME(cudaStreamAddCallback,
               (cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned),
               played::call_back(stream, function, data))
PLAYED_RUNTIME(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
               played::call_host(stream, function, data))

PLAYED_RUNTIME(cudaEventCreate, (cudaEvent_t * event), played::make_event(event))
PLAYED_RUNTIME(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned), played::make_event(event))
PLAYED_RUNTIME(cudaEventDestroy, (cudaEvent_t event), played::destroy_event(event))
PLAYED_RUNTIME(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
               played::record_event(event, stream, "cudaEventRecord"))
PLAYED_RUNTIME(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned),
               played::record_event(event, stream, "cudaEventRecordWithFlags"))
PLAYED_RUNTIME(cudaEventQuery, (cudaEvent_t), played::call("cudaEventQuery"))
PLAYED_RUNTIME(cudaEventSynchronize, (cudaEvent_t), played::call("cudaEventSynchronize"))
PLAYED_RUNTIME(cudaEventElapsedTime, (float* ms, cudaEvent_t begin, cudaEvent_t end),
               played::tell_elapsed(ms, begin, end))

PLAYED_RUNTIME(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode),
               played::begin(stream))
PLAYED_RUNTIME(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph),
               played::end(stream, graph))
PLAYED_RUNTIME(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status),
               played::tell_capturing(stream, status))
PLAYED_RUNTIME(cudaStreamGetCaptureInfo,
               (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                std::size_t* count),
               played::tell_capture(stream, status, id, graph, nodes, edges, count))
PLAYED_RUNTIME(cudaStreamUpdateCaptureDependencies,
               (cudaStream_t, cudaGraphNode_t*, const cudaGraphEdgeData*, std::size_t, unsigned),
               CUDA_SUCCESS)
PLAYED_RUNTIME(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode),
               played::exchange_mode(mode))
PLAYED_RUNTIME(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count),
               played::tell_nodes(graph, nodes, count))
PLAYED_RUNTIME(cudaGraphInstantiate,
               (cudaGraphExec_t * made, cudaGraph_t graph, unsigned long long),
               played::instantiate(made, graph))
PLAYED_RUNTIME(cudaGraphInstantiateWithFlags,
               (cudaGraphExec_t * made, cudaGraph_t graph, unsigned long long),
               played::instantiate(made, graph))
PLAYED_RUNTIME(cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream),
               played::replay(*played::graph_of(graph), stream))
PLAYED_RUNTIME(cudaGraphDestroy, (cudaGraph_t graph), played::destroy(played::graph_of(graph)))
PLAYED_RUNTIME(cudaGraphExecDestroy, (cudaGraphExec_t graph),
               played::destroy(played::graph_of(graph)))
PLAYED_RUNTIME(cudaUserObjectCreate,
               (cudaUserObject_t * object, void*, cudaHostFn_t, unsigned, unsigned),
               played::keep(object))
PLAYED_RUNTIME(cudaUserObjectRelease, (cudaUserObject_t, unsigned), CUDA_SUCCESS)
PLAYED_RUNTIME(cudaGraphRetainUserObject, (cudaGraph_t, cudaUserObject_t, unsigned, unsigned),
               CUDA_SUCCESS)
