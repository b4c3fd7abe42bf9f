#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capture/played/driver/modules.h"
#include "capture/played/played.h"

namespace played {

/// What work does to memory and to what is known of it, each time that it runs.
using Effect = std::function<int()>;

/// Work of a graph.
struct Node {
  std::string name;
  Launch launch;
  Effect effect;
};
struct Graph {
  std::vector<std::shared_ptr<const Node>> nodes;
};

/// Issues work: it runs, or becomes a node of the graph that captures its stream.
CUresult issue(Launch launch, const Effect& effect);
/// Runs all nodes of a graph.
CUresult replay(const Graph& graph, CUstream stream);

/// Launches a function by `shape`, whose grid, blocks, shared memory and stream are set. What its
/// arguments point to is not known afterwards.
CUresult launch(Function& function, Work shape, void** arguments,
                const CUlaunchConfig* config = nullptr);

/// Tells CUPTI that the host called a function that issues nothing.
CUresult call(const char* function, const void* stream = nullptr, long long* event_ns = nullptr);

}  // namespace played
