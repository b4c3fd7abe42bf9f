// Captures and graphs.
#include <utility>

#include "capture/played/driver/streams.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

/// Of a graph or an instance of one.
Graph& graph_of(void* graph) {
  return *static_cast<Graph*>(graph);
}

cudaGraphNode_t handle_of(const std::shared_ptr<const Node>& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node.get()));
}

CUresult begin(cudaStream_t stream) {
  begin_capture(stream);
  return call("cudaStreamBeginCapture");
}

CUresult end(cudaStream_t stream, cudaGraph_t* graph) {
  const bool was_captured = capture_of(stream) != nullptr;
  *graph = reinterpret_cast<cudaGraph_t>(end_capture(stream));
  return *graph != nullptr ? call("cudaStreamEndCapture")
         : was_captured    ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                           : CUDA_ERROR_ILLEGAL_STATE;
}

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  CUstreamCaptureStatus status{};
  cuStreamIsCapturing(stream, &status);
  return static_cast<cudaStreamCaptureStatus>(status);
}

CUresult ask(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = status_of(stream);
  return call("cudaStreamIsCapturing");
}

template <typename T>
void answer_asked(T* to, T value) {
  if (to != nullptr) {
    *to = value;
  }
}

CUresult describe(cudaStream_t stream, unsigned long long* id, cudaGraph_t* graph,
                  const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                  std::size_t* count) {
  static thread_local cudaGraphNode_t last;
  if (const auto capture = capture_of(stream)) {
    const bool is_empty = capture->graph->nodes.empty();
    last = is_empty ? nullptr : handle_of(capture->graph->nodes.back());
    answer_asked(id, capture->id);
    answer_asked(graph, reinterpret_cast<cudaGraph_t>(capture->graph));
    answer_asked<const cudaGraphNode_t*>(nodes, &last);
    answer_asked<const cudaGraphEdgeData*>(edges, nullptr);
    answer_asked<std::size_t>(count, is_empty ? 0 : 1);
  }
  return CUDA_SUCCESS;
}

CUresult exchange_mode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;
  std::swap(*mode, now);
  return CUDA_SUCCESS;
}

CUresult count_nodes(const Graph& graph, const cudaGraphNode_t* nodes, std::size_t* count) {
  return nodes == nullptr ? answer(count, graph.nodes.size()) : refuse("a list of a graph's nodes");
}

CUresult instantiate(cudaGraphExec_t* made, const Graph& graph) {
  return answer(made, reinterpret_cast<cudaGraphExec_t>(new Graph(graph)));
}

CUresult destroy(const Graph& graph) {
  delete &graph;
  return CUDA_SUCCESS;
}

}  // namespace

PLAYED_RUNTIME(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode), begin(stream))
PLAYED_RUNTIME(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), end(stream, graph))
PLAYED_RUNTIME(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status),
               ask(stream, status))
PLAYED_RUNTIME(cudaStreamGetCaptureInfo,
               (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                std::size_t* count),
               (*status = status_of(stream), describe(stream, id, graph, nodes, edges, count)))
PLAYED_RUNTIME(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode),
               exchange_mode(mode))
PLAYED_RUNTIME(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count),
               count_nodes(graph_of(graph), nodes, count))
PLAYED_RUNTIME(cudaGraphInstantiate,
               (cudaGraphExec_t * made, cudaGraph_t graph, unsigned long long),
               instantiate(made, graph_of(graph)))
PLAYED_RUNTIME(cudaGraphInstantiateWithFlags,
               (cudaGraphExec_t * made, cudaGraph_t graph, unsigned long long),
               instantiate(made, graph_of(graph)))
PLAYED_RUNTIME(cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream),
               replay(graph_of(graph), stream))
PLAYED_RUNTIME(cudaGraphDestroy, (cudaGraph_t graph), destroy(graph_of(graph)))
PLAYED_RUNTIME(cudaGraphExecDestroy, (cudaGraphExec_t graph), destroy(graph_of(graph)))

}  // namespace played
