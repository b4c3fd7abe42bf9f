#include "substitute_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

namespace understudy::replayer {

std::vector<std::string> argument_names_of(const std::string& schema) {
  std::vector<std::string> names;
  const c10::FunctionSchema parsed = torch::jit::parseSchema(schema);
  for (const c10::Argument& argument : parsed.arguments()) {
    names.push_back(argument.name());
  }
  return names;
}

std::string operator_name_of(const std::string& schema) {
  return c10::toString(torch::jit::parseSchema(schema).operator_name());
}

torch::jit::Stack call_substitute(const std::string& schema, torch::jit::Stack arguments,
                                  const std::vector<const et_schema::Slot*>& results) {
  const std::vector<std::string> names = argument_names_of(schema);
  EXPECT_EQ(arguments.size(), names.size()) << schema;
  const std::optional<Substitute> substitute = find_substitute(schema, c10::kCPU, results);
  if (!substitute) {
    ADD_FAILURE() << "no substitute for " << schema;
    return {};
  }
  EXPECT_FALSE(substitute->by.empty());
  const at::AutoDispatchBelowADInplaceOrView guard;
  // What lies below on the stack must stay.
  arguments.insert(arguments.begin(), c10::IValue("below"));
  substitute->call(arguments);
  EXPECT_EQ(arguments.front(), c10::IValue("below"));
  arguments.erase(arguments.begin());
  return arguments;
}

std::vector<at::Tensor> autograd_gradients(
    const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
    const std::vector<at::Tensor>& inputs, const at::Tensor& grad_output) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.detach().clone().requires_grad_(true));
  }
  return torch::autograd::grad({function(leaves)}, leaves, {grad_output});
}

void expect_close(const c10::IValue& value, const at::Tensor& expected, double tolerance) {
  ASSERT_TRUE(value.isTensor());
  const at::Tensor& tensor = value.toTensor();
  ASSERT_TRUE(tensor.defined());
  ASSERT_EQ(tensor.scalar_type(), expected.scalar_type());
  ASSERT_EQ(tensor.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(tensor, expected, tolerance, tolerance))
      << "largest difference "
      << (tensor.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
}

et_schema::Slot layout_of(std::vector<std::int64_t> sizes, et_schema::DType dtype) {
  et_schema::Slot slot;
  slot.dtype = dtype;
  slot.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i > 1; --i) {
    slot.strides[i - 2] = slot.strides[i - 1] * sizes[i - 1];
  }
  slot.sizes = std::move(sizes);
  return slot;
}

}  // namespace understudy::replayer
