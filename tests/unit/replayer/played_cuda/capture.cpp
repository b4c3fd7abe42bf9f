// Captures and graphs of CUDA's runtime: see capture.h.
#include "capture.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "played_cuda.h"

namespace {

struct Node {
  double ns = 0;
  std::function<void()> effect;
};
using Nodes = std::vector<Node>;

struct Capture {
  unsigned long long id = 0;
  Nodes nodes;
  bool has_failed = false;
};

struct Captures {
  std::mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<Capture>> streams;
  std::map<cudaEvent_t, std::weak_ptr<Capture>> events;
  unsigned long long last_id = 0;
  std::uint64_t launches = 0;
  std::uint64_t failures = 0;
};

Captures& captures() {
  static auto& the_captures = *std::make_unique<Captures>().release();
  return the_captures;
}

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
thread_local std::set<unsigned long long> begun_here;

/// With the lock held.
std::shared_ptr<Capture> capture_of(cudaStream_t stream) {
  const auto found = captures().streams.find(stream);
  return found == captures().streams.end() ? nullptr : found->second;
}

cudaError_t fail(Capture& capture) {
  captures().failures += capture.has_failed ? 0U : 1U;
  capture.has_failed = true;
  return cudaErrorStreamCaptureUnsupported;
}

Nodes& nodes_of(cudaGraph_t graph) {
  return *reinterpret_cast<Nodes*>(graph);
}

}  // namespace

namespace played_cuda {

std::uint64_t graph_launches() {
  const std::scoped_lock lock(captures().mutex);
  return captures().launches;
}

std::uint64_t failed_captures() {
  const std::scoped_lock lock(captures().mutex);
  return captures().failures;
}

}  // namespace played_cuda

namespace played_cuda::capture {

std::optional<cudaError_t> take(cudaStream_t stream, double ns, std::function<void()> effect) {
  const std::scoped_lock lock(captures().mutex);
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) {
    return std::nullopt;
  }
  if (capture->has_failed) {
    return cudaErrorStreamCaptureInvalidated;
  }
  capture->nodes.push_back({ns, std::move(effect)});
  return cudaSuccess;
}

cudaError_t wait_for_stream(cudaStream_t stream) {
  const std::scoped_lock lock(captures().mutex);
  const std::shared_ptr<Capture> capture = capture_of(stream);
  return capture == nullptr ? cudaSuccess : fail(*capture);
}

cudaError_t wait_for_event(cudaEvent_t event) {
  const std::scoped_lock lock(captures().mutex);
  const auto found = captures().events.find(event);
  const std::shared_ptr<Capture> capture =
      found == captures().events.end() ? nullptr : found->second.lock();
  return capture == nullptr ? cudaSuccess : fail(*capture);
}

cudaError_t unsafe_call() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) {
    return cudaSuccess;
  }
  const std::scoped_lock lock(captures().mutex);
  for (const auto& [stream, capture] : captures().streams) {
    if (begun_here.contains(capture->id)) {
      return fail(*capture);
    }
  }
  return cudaSuccess;
}

void record(cudaEvent_t event, cudaStream_t stream) {
  const std::scoped_lock lock(captures().mutex);
  captures().events.erase(event);
  if (const std::shared_ptr<Capture> capture = capture_of(stream)) {
    captures().events[event] = capture;
  }
}

void join(cudaStream_t stream, cudaEvent_t event) {
  const std::scoped_lock lock(captures().mutex);
  const auto found = captures().events.find(event);
  if (found != captures().events.end() && !found->second.expired()) {
    captures().streams[stream] = found->second.lock();
  }
}

}  // namespace played_cuda::capture

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::scoped_lock lock(captures().mutex);
  if (stream == nullptr || capture_of(stream) != nullptr) {
    return cudaErrorStreamCaptureUnsupported;
  }
  auto capture = std::make_shared<Capture>();
  capture->id = ++captures().last_id;
  begun_here.insert(capture->id);
  captures().streams[stream] = std::move(capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::scoped_lock lock(captures().mutex);
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) {
    return cudaErrorIllegalState;
  }
  std::erase_if(captures().streams, [&](const auto& row) { return row.second == capture; });
  begun_here.erase(capture->id);
  if (capture->has_failed) {
    return cudaErrorStreamCaptureInvalidated;
  }
  *graph = reinterpret_cast<cudaGraph_t>(std::make_unique<Nodes>(capture->nodes).release());
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                     const cudaGraphEdgeData**, std::size_t*) {
  const std::scoped_lock lock(captures().mutex);
  const std::shared_ptr<Capture> capture = capture_of(stream);
  *status = capture == nullptr    ? cudaStreamCaptureStatusNone
            : capture->has_failed ? cudaStreamCaptureStatusInvalidated
                                  : cudaStreamCaptureStatusActive;
  if (capture != nullptr && id != nullptr) {
    *id = capture->id;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  *count = nodes_of(graph).size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::unique_ptr<Nodes> owner(&nodes_of(graph));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph,
                                          unsigned long long) {
  *made = reinterpret_cast<cudaGraphExec_t>(std::make_unique<Nodes>(nodes_of(graph)).release());
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(graph));
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  {
    const std::scoped_lock lock(captures().mutex);
    ++captures().launches;
  }
  bool is_first = true;
  for (const Node& node : nodes_of(reinterpret_cast<cudaGraph_t>(graph))) {
    played_cuda::capture::run_node(stream, node.ns, std::exchange(is_first, false));
    if (node.effect) {
      node.effect();
    }
  }
  return cudaSuccess;
}
}
