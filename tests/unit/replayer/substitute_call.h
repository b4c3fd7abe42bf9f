#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <functional>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// The argument names of a schema's text, as the replayer finds them.
[[nodiscard]] std::vector<std::string> argument_names_of(const std::string& schema);

/// The name with the overload of a schema's text.
[[nodiscard]] std::string operator_name_of(const std::string& schema);

/// Calls the substitute of a recorded operator, as the replayer does: below autograd, with the
/// recorded arguments on the stack. Fails the test, with no results, where there is no substitute.
[[nodiscard]] torch::jit::Stack call_substitute(
    const std::string& schema, torch::jit::Stack arguments,
    const std::vector<const et_schema::Slot*>& results = {});

/// The gradients that autograd gives for `function` at `inputs`.
[[nodiscard]] std::vector<at::Tensor> autograd_gradients(
    const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
    const std::vector<at::Tensor>& inputs, const at::Tensor& grad_output);

/// Expects the value to be a tensor of the same dtype and shape and nearly the same content.
void expect_close(const c10::IValue& value, const at::Tensor& expected, double tolerance = 1e-5);

/// A recorded result's layout: contiguous.
[[nodiscard]] et_schema::Slot layout_of(std::vector<std::int64_t> sizes, et_schema::DType dtype);

}  // namespace understudy::replayer
