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

/// A list of tensors, some of which are slots: boxed once, its slots patched before each call.
struct SlotList {
  c10::IValue boxed;      ///< c10::List<at::Tensor> or c10::List<std::optional<at::Tensor>>
  bool optional = false;  ///< which of the two
  std::vector<std::pair<std::uint32_t, et_schema::SlotId>> elements;  ///< position, slot

  void set(std::uint32_t position, const at::Tensor& tensor) const {
    if (optional) {
      boxed.toOptionalTensorList().set(position, tensor);
    } else {
      boxed.toTensorList().set(position, tensor);
    }
  }
};

/// What an argument is when the operator is called: a value that never changes, a slot's tensor, or
/// a list with slots among its elements.
using PlannedArgument = std::variant<c10::IValue, et_schema::SlotId, SlotList>;

/// A recorded argument that today's type cannot take.
struct BoxFailure {
  std::string reason;
};

struct BoxContext {
  c10::Device device{c10::kCPU};  ///< what recorded accelerators become
  std::string_view op;            ///< name without overload, for what an epsilon is by default
  et_schema::Losses* losses = nullptr;
};

/// Boxes one recorded argument for an argument of today's schema. Epsilons recorded as zero become
/// the operator's usual one and are counted. Throws BoxFailure.
[[nodiscard]] PlannedArgument plan_argument(const et_schema::Argument& recorded,
                                            const c10::Argument& target, const BoxContext& context);

/// Boxes an argument where there is no schema to tell its type: numbers as they are, lists by their
/// elements.
[[nodiscard]] PlannedArgument plan_untyped(const et_schema::Argument& recorded,
                                           const BoxContext& context);

}  // namespace understudy::replayer
