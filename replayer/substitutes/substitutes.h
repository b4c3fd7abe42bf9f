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

/// How far a substitute is from the operator that was recorded.
enum class Rung : std::uint8_t {
  kSubstituted,  ///< same inputs, outputs and work
  kStubbed       ///< a stub: docs/metrics.md, "Stubs"
};

/// What runs in place of an operator that has no kernel here.
struct Substitute {
  std::string by;  ///< for the report: "aten::native_batch_norm"
  Rung rung = Rung::kSubstituted;
  /// Called like OperatorHandle::callBoxed: the recorded arguments are on the stack, in the
  /// recorded schema's order, and are replaced by the results in the recorded schema's order.
  /// In-place arguments are written. May throw c10::Error, as any operator.
  std::function<void(torch::jit::Stack&)> call;
};

/// The recorded results of an operator: null where one is undefined or not a tensor. Outputs that
/// have no meaning on another device (random number states, cuDNN's reserve) are given this layout.
using RecordedResults = std::span<const et_schema::Slot* const>;

/// The substitute of an operator on a device, if there is one. `op` is the name with its overload
/// ("aten::cudnn_batch_norm", "aten::_fused_adam_.tensor_lr"); `arguments` are the argument names
/// of the recorded schema, in order, so that older and newer schemas of one operator both fit. Some
/// operators resolve here, but throw (`aten::_thnn_fused_lstm_cell_backward`): ask for these too.
[[nodiscard]] std::optional<Substitute> find_substitute(std::string_view op,
                                                        std::span<const std::string> arguments,
                                                        c10::DeviceType device,
                                                        RecordedResults results = {});

/// The substitute of a label that did work: `label` is the label's name
/// ("torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>"), `forward_op` and
/// `forward_arguments` are the operator whose arguments it is given, as above. On the stack: the
/// `gradients` tensors that the label recorded as inputs, the forward operator's arguments, and the
/// `allocated` tensors that operators below the label made. A gradient of a whole table is written
/// into the first of these that has the table's layout, or else left on the stack.
[[nodiscard]] std::optional<Substitute> find_native_substitute(
    std::string_view label, std::size_t gradients, std::string_view forward_op,
    std::span<const std::string> forward_arguments, std::size_t allocated = 0);

/// Why an operator means nothing on this device and is left out of coverage ("the CPU has no
/// streams"); empty where it means something.
[[nodiscard]] std::optional<std::string> not_applicable_reason(std::string_view op,
                                                               c10::DeviceType device);

/// Checks, before a first call, the arguments of operators that do not check them themselves and
/// would corrupt memory: the sentence that says what is wrong, or nothing. Costs a pass over the
/// index tensors; for the trial, not for timed iterations.
[[nodiscard]] std::optional<std::string> find_unsafe_arguments(
    std::string_view op, std::span<const std::string> arguments, const torch::jit::Stack& stack);

/// A table that an operator reads by rows, and which rows: what must be seeded before the call if
/// the table is mapped on demand.
struct TableReach {
  at::Tensor table;
  std::int64_t row_elements = 0;   ///< rows are [r * row_elements, (r + 1) * row_elements)
  std::vector<std::int64_t> rows;  ///< may hold a row more than once
};

/// The tables that this call would read by rows: embedding, embedding_bag, index_select, index and
/// fbgemm's lookups (optimizer states included). Empty for every other operator.
[[nodiscard]] std::vector<TableReach> table_reach(std::string_view op,
                                                  std::span<const std::string> arguments,
                                                  const torch::jit::Stack& stack);

}  // namespace understudy::replayer
