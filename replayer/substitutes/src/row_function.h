#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "et_schema/facts/operator_map.h"

namespace understudy::replayer {

/// Compiles the function of a row to TorchScript. Each source is compiled once. Throws Error (bad
/// input): see check_operator_map().
[[nodiscard]] std::shared_ptr<torch::jit::Graph> compile_row(const et_schema::MapRow& row);

/// A compiled function, prepared for a device: a list of calls over numbered values. LibTorch's
/// executor cannot run it, because it does not know substitutes for operators without a kernel.
class RowFunction {
 public:
  /// Throws c10::Error if an operator has neither a kernel for the device nor a substitute.
  RowFunction(const torch::jit::Graph& graph, c10::Device device);

  /// Throws c10::Error, as operators do; also if the function itself raises.
  [[nodiscard]] std::vector<c10::IValue> operator()(std::vector<c10::IValue> parameters) const;

 private:
  using Register = std::uint32_t;
  struct Block;
  struct Action {
    enum class Kind : std::uint8_t { kConstant, kCall, kIf, kLoop };
    Kind kind = Kind::kCall;
    std::vector<Register> inputs;
    std::vector<Register> outputs;
    c10::IValue constant;
    std::function<void(torch::jit::Stack&)> call;
    std::string op;
    bool takes_layout = false;  ///< its results may refer to any memory of a storage
    std::vector<Block> blocks;
    std::vector<Register> last_read;  ///< values that nothing later in the block reads
  };
  struct Block {
    std::vector<Register> inputs;
    std::vector<Register> outputs;
    std::vector<Action> actions;
  };
  class Maker;

  void run(const Block& block, std::vector<c10::IValue>& values) const;
  void run(const Action& action, std::vector<c10::IValue>& values) const;
  void loop(const Action& action, std::vector<c10::IValue>& values) const;

  Block main_;
  std::size_t registers_ = 0;
};

}  // namespace understudy::replayer
