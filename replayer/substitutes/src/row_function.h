#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <memory>
#include <vector>

#include "et_schema/facts/operator_map.h"

namespace understudy::replayer {

/// Compiles the function of a row to TorchScript. Each source is compiled once. Throws Error (bad
/// input): see check_operator_map().
[[nodiscard]] std::shared_ptr<torch::jit::Graph> compile_row(const et_schema::MapRow& row);

/// A compiled function, prepared for a device: its operators without a kernel are substitutes, and
/// each checks that its tensors lie in their storages.
class RowFunction {
 public:
  /// Takes the graph over. Throws c10::Error if an operator has neither a kernel for the device nor
  /// a substitute.
  RowFunction(const std::shared_ptr<torch::jit::Graph>& graph, c10::Device device);

  /// Throws c10::Error, as operators do; also if the function itself raises.
  [[nodiscard]] std::vector<c10::IValue> operator()(torch::jit::Stack values) const;

 private:
  torch::jit::Code code_;
};

}  // namespace understudy::replayer
