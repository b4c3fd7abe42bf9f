#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <optional>

#include "capture/played/driver/launches.h"

namespace played {

/// A capture of streams into a graph, which belongs to who ends it.
struct Capture {
  unsigned long long id;
  Graph* graph;
  bool is_open = true;
  bool has_failed = false;
};

struct Stream {
  int priority;
};

/// Work takes no time, and an event has none, unless a runner says when it was.
struct Event {
  long long ns = 0;
  std::shared_ptr<Capture> capture;  ///< of the stream that it was recorded on
};

void record(Event& event, CUstream stream);
/// A stream that waits for an event of a capture joins it.
void wait_for(CUstream stream, const Event& event);

void begin_capture(CUstream stream);
/// Returns the graph; null: the stream was not captured, or its capture has failed.
[[nodiscard]] Graph* end_capture(CUstream stream);
/// Null: the stream is not captured.
[[nodiscard]] std::shared_ptr<const Capture> capture_of(CUstream stream);

/// The host waits for a stream, an event or the card, or asks whether it is done: captures of it
/// fail.
CUresult wait_on_host(CUstream stream);
CUresult wait_on_host(const Event& event);
CUresult wait_for_all_on_host();

/// Adds a node to the graph that captures the stream; nothing: none does.
[[nodiscard]] std::optional<CUresult> add_to_capture(
    CUstream stream, const std::function<std::shared_ptr<const Node>()>& make);

}  // namespace played
