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
using Effect = std::function<CUresult()>;

/// Work of a graph.
struct Node {
  std::string name;
  Work work;
  const Kernel* kernel;
  Effect effect;
};
struct Graph {
  std::vector<std::shared_ptr<const Node>> nodes;
};

/// Issues work: it runs at once, or becomes a node of the graph that captures its stream. `kernel`
/// may be null.
CUresult issue(const Work& work, const Kernel* kernel, const Effect& effect);
/// Runs all nodes of a graph.
CUresult replay(const Graph& graph, CUstream stream);

/// Launches a function by `shape`, whose grid, blocks, shared memory and stream are set. What its
/// arguments point to is not known afterwards.
CUresult launch(Function& function, Work shape, void** arguments);

/// Tells CUPTI that the host called a function that issues nothing, and succeeds.
CUresult call(const char* function);

}  // namespace played
