#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// How much a substitute differs from the recorded operator.
enum class Rung : std::uint8_t {
  kSubstituted,  ///< same inputs, outputs and work
  kStubbed       ///< a stub: docs/metrics.md, "Stubs"
};

/// Replaces an operator that has no kernel on this device.
struct Substitute {
  std::string by;  ///< for the report: "aten::native_batch_norm"
  Rung rung = Rung::kSubstituted;
  /// Called like OperatorHandle::callBoxed: replaces the recorded arguments on the stack by the
  /// results, both in the order of the recorded schema. In-place arguments are written. May throw
  /// c10::Error, like any operator.
  std::function<void(torch::jit::Stack&)> call;
};

/// The recorded results of an operator: null if a result is undefined or not a tensor. Outputs
/// without meaning on another device (random number states, cuDNN's reserve) are made in this
/// layout.
using RecordedResults = std::span<const et_schema::Slot* const>;

/// Returns the substitute of an operator on a device, if there is one. The schema is the recorded
/// one; older and newer schemas of one operator both fit. Some operators that have a substitute are
/// there on the device, too, but throw when they are called
/// (`aten::_thnn_fused_lstm_cell_backward`).
[[nodiscard]] std::optional<Substitute> find_substitute(std::string_view schema, c10::Device device,
                                                        RecordedResults results = {});

/// Returns the substitute of a label that did work. `label` is its name
/// ("torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>"). `forward_op` and
/// `forward_arguments` are the operator whose arguments it receives, as above. The stack holds the
/// `gradients` tensors that the label recorded as inputs, the forward operator's arguments, and the
/// `allocated` tensors that operators below the label made. A gradient of a whole table is written
/// into the first allocated tensor with the table's layout; without one, it is left on the stack.
[[nodiscard]] std::optional<Substitute> find_native_substitute(
    std::string_view label, std::size_t gradients, std::string_view forward_op,
    std::span<const std::string> forward_arguments, std::size_t allocated = 0);

/// Returns why an operator has no meaning on this device and is excluded from coverage ("the CPU
/// has no streams"); otherwise nothing.
[[nodiscard]] std::optional<std::string> not_applicable_reason(std::string_view op,
                                                               c10::DeviceType device);

/// Returns a sentence that says what is wrong with the arguments on a stack, or nothing.
using ArgumentCheck = std::function<std::optional<std::string>(const torch::jit::Stack&)>;
/// Returns the check of an operator that does not check its arguments itself and would corrupt
/// memory; empty for others. It reads all index tensors.
[[nodiscard]] ArgumentCheck argument_check(std::string_view op,
                                           std::span<const std::string> arguments);

/// A table that an operator reads by rows, and these rows. If the table is mapped on demand, the
/// rows must be seeded before the call.
struct TableReach {
  at::Tensor table;
  std::int64_t row_elements = 0;   ///< rows are [r * row_elements, (r + 1) * row_elements)
  std::vector<std::int64_t> rows;  ///< may hold a row more than once
};

/// Returns the tables that this call would read by rows: embedding, embedding_bag, index_select,
/// index and fbgemm's lookups (including optimizer states). Empty for other operators.
[[nodiscard]] std::vector<TableReach> table_reach(std::string_view op,
                                                  std::span<const std::string> arguments,
                                                  const torch::jit::Stack& stack);

}  // namespace understudy::replayer
