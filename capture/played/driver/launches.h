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
[[nodiscard]] CUresult issue(const Work& work, const Kernel* kernel, const Effect& effect);
/// Runs all nodes of a graph.
[[nodiscard]] CUresult replay(const Graph& graph, CUstream stream);

struct Shape {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
};
/// Launches a kernel. What its arguments point to is not known afterwards.
[[nodiscard]] CUresult launch(Function& function, const Shape& shape, CUstream stream,
                              void** arguments);

/// Tells CUPTI that the host called a function that issues nothing, and succeeds.
CUresult call(const char* function);

}  // namespace played
