#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"
#include "replayer/options/options.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

class DeviceGraph;

/// Returns true if iterations run as CUDA graphs: if requested, or by default if the original's
/// device times are of graphs (RecordedProfile::graph_run). Throws Error (usage) if they are
/// requested and cannot be: on a CPU, without LibTorch's graphs, or beside an option that decides
/// when or on which stream each operator is issued.
[[nodiscard]] bool uses_graphs(const et_schema::Program& program, c10::Device device,
                               const ReplayOptions& options);

/// An iteration whose steps are launched as CUDA graphs where a capture permits it. Other steps run
/// between the graphs, on the same tensors in each iteration. A capture of each step alone finds
/// those that prevent it: they throw.
class GraphedIteration {
 public:
  /// Work is issued to a stream from LibTorch's pool for the lifetime of this object. The device
  /// must be idle.
  GraphedIteration(const et_schema::Program& program, BoundProgram& bound, Machine& machine,
                   c10::Device device);
  ~GraphedIteration();
  GraphedIteration(const GraphedIteration&) = delete;
  GraphedIteration& operator=(const GraphedIteration&) = delete;

  /// Runs an iteration without graphs, and finds the steps that prevent them.
  void try_steps();
  /// Captures and runs an iteration. Must be called after try_steps().
  void capture();
  /// Runs an iteration. Must be called after capture().
  void run();
  /// Frees the graphs and their memory; run() must not be called again.
  void release();

  /// Returns the figures of an iteration. `device_ms` has the times of each step, in passes.
  [[nodiscard]] et_schema::GraphUse use(const std::vector<std::vector<double>>& device_ms) const;

 private:
  /// A graph, or a step that is issued, with the tensors that it must use.
  struct Part {
    std::unique_ptr<DeviceGraph> graph;
    const Step* step = nullptr;
    std::map<et_schema::SlotId, at::Tensor> tensors = {};
  };

  [[nodiscard]] std::string reason_before(const Step& step) const;
  [[nodiscard]] std::unique_ptr<DeviceGraph> captured(const std::function<void()>& work);
  void try_alone(const Step& step, std::string& why);
  void issue(const Step& step);
  void keep_tensors(Part& part) const;
  [[nodiscard]] std::size_t capture_from(std::size_t begin);

  const et_schema::Program& program_;
  BoundProgram& bound_;
  Machine& machine_;
  c10::Device device_;
  c10::Stream stream_before_;
  std::vector<std::string> why_;       ///< by step: what prevents its capture; empty: nothing
  std::vector<bool> is_in_graphs_;     ///< by storage: a captured step reads or writes it
  std::unique_ptr<DeviceGraph> pool_;  ///< empty; keeps the pool of the others
  std::vector<Part> parts_;
  et_schema::GraphUse use_;
};

}  // namespace understudy::replayer
