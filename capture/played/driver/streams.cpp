#include "capture/played/driver/streams.h"

#include <map>
#include <mutex>
#include <utility>

#include "capture/played/driver/card.h"

namespace played {
namespace {

struct Captures {
  std::mutex mutex;
  std::map<CUstream, std::shared_ptr<Capture>> by_stream;
  unsigned long long last_id = 0;
};

Captures& captures() {
  static auto& the_captures = *new Captures;
  return the_captures;
}

std::shared_ptr<Capture> find_capture(CUstream stream) {
  const auto found = captures().by_stream.find(stream);
  return found == captures().by_stream.end() ? nullptr : found->second;
}

CUresult fail(const std::shared_ptr<Capture>& capture) {
  if (capture == nullptr || !capture->is_open) {
    return CUDA_SUCCESS;
  }
  capture->has_failed = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUstreamCaptureStatus status_of(CUstream stream) {
  const auto capture = capture_of(stream);
  return capture == nullptr    ? CU_STREAM_CAPTURE_STATUS_NONE
         : capture->has_failed ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                               : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace

void record(Event& event, CUstream stream) {
  const std::scoped_lock lock(captures().mutex);
  event.capture = find_capture(stream);
}

void wait_for(CUstream stream, const Event& event) {
  const std::scoped_lock lock(captures().mutex);
  if (event.capture != nullptr && event.capture->is_open) {
    captures().by_stream.try_emplace(stream, event.capture);
  }
}

void begin_capture(CUstream stream) {
  const std::scoped_lock lock(captures().mutex);
  captures().by_stream[stream] =
      std::make_shared<Capture>(Capture{++captures().last_id, new Graph});
}

Graph* end_capture(CUstream stream) {
  const std::scoped_lock lock(captures().mutex);
  const auto capture = find_capture(stream);
  if (capture == nullptr) {
    return nullptr;
  }
  capture->is_open = false;
  std::erase_if(captures().by_stream, [&](const auto& row) { return row.second == capture; });
  if (capture->has_failed) {
    delete std::exchange(capture->graph, nullptr);
  }
  return capture->graph;
}

CUresult wait_on_host(CUstream stream) {
  const std::scoped_lock lock(captures().mutex);
  return fail(find_capture(stream));
}

CUresult wait_on_host(const Event& event) {
  const std::scoped_lock lock(captures().mutex);
  return fail(event.capture);
}

CUresult wait_for_all_on_host() {
  const std::scoped_lock lock(captures().mutex);
  CUresult result = CUDA_SUCCESS;
  for (const auto& [stream, capture] : captures().by_stream) {
    result = fail(capture);
  }
  return result;
}

std::shared_ptr<const Capture> capture_of(CUstream stream) {
  const std::scoped_lock lock(captures().mutex);
  return find_capture(stream);
}

std::optional<CUresult> add_to_capture(CUstream stream,
                                       const std::function<std::shared_ptr<const Node>()>& make) {
  const std::scoped_lock lock(captures().mutex);
  const auto capture = find_capture(stream);
  if (capture == nullptr) {
    return std::nullopt;
  }
  if (capture->has_failed) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  capture->graph->nodes.push_back(make());
  return CUDA_SUCCESS;
}

PLAYED_DRIVER(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* status),
              answer(status, status_of(stream)))

}  // namespace played

int played_is_capturing() {
  const std::scoped_lock lock(played::captures().mutex);
  return played::captures().by_stream.empty() ? 0 : 1;
}
