#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/model/losses.h"
#include "et_schema/model/program.h"

namespace understudy::replayer {

/// A list of tensors, some of them slots. It is boxed once; its slots are set before each call.
struct SlotList {
  c10::IValue boxed;      ///< c10::List<at::Tensor> or c10::List<std::optional<at::Tensor>>
  bool optional = false;  ///< true for the latter type
  std::vector<std::pair<std::uint32_t, et_schema::SlotId>> elements;  ///< position, slot

  void set(std::uint32_t position, const at::Tensor& tensor) const {
    if (optional) {
      boxed.toOptionalTensorList().set(position, tensor);
    } else {
      boxed.toTensorList().set(position, tensor);
    }
  }
};

/// The source of an argument: a constant value, a slot's tensor, or a list with slots among its
/// elements.
using PlannedArgument = std::variant<c10::IValue, et_schema::SlotId, SlotList>;

/// Thrown if a recorded argument does not fit the current schema's type.
struct BoxFailure {
  std::string reason;
};

struct BoxContext {
  c10::Device device{c10::kCPU};  ///< replaces recorded accelerators
  std::string_view op;            ///< name without overload; decides the default epsilon
  et_schema::Losses* losses = nullptr;
};

/// Boxes a recorded argument for an argument of the current schema. An epsilon recorded as zero
/// becomes the operator's usual one and is counted. Throws BoxFailure.
[[nodiscard]] PlannedArgument plan_argument(const et_schema::Argument& recorded,
                                            const c10::Argument& target, const BoxContext& context);

/// Boxes an argument without a schema: numbers as they are, lists by their elements.
[[nodiscard]] PlannedArgument plan_untyped(const et_schema::Argument& recorded,
                                           const BoxContext& context);

}  // namespace understudy::replayer
