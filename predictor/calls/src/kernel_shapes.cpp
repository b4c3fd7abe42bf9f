#include "kernel_shapes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace understudy::predictor {
namespace {

using Sizes = std::vector<std::int64_t>;
using Values = std::span<const std::int64_t>;

constexpr std::array<std::string_view, 2> kRows = {"B", "H"};
constexpr std::array<std::string_view, 4> kProduct = {"B", "M", "N", "K"};
constexpr std::array<std::string_view, 7> kConvolution = {
    "B", "Input_Channel", "Output_Channel", "Kernel_Size", "Input_Size", "Stride", "Padding"};

OperatorCall make(const KernelShape& shape, DType dtype, std::vector<Sizes> inputs, Sizes output) {
  OperatorCall call{std::string(shape.op), std::string(shape.overload), {}, {}};
  for (Sizes& sizes : inputs) {
    call.inputs.push_back({dtype, std::move(sizes)});
  }
  call.outputs.push_back({dtype, std::move(output)});
  return call;
}

OperatorCall unary(const KernelShape& shape, DType dtype, Values v) {
  return make(shape, dtype, {{v[0], v[1]}}, {v[0], v[1]});
}

OperatorCall binary(const KernelShape& shape, DType dtype, Values v) {
  return make(shape, dtype, {{v[0], v[1]}, {v[0], v[1]}}, {v[0], v[1]});
}

OperatorCall layer_norm(const KernelShape& shape, DType dtype, Values v) {
  return make(shape, dtype, {{v[0], v[1]}, {v[1]}, {v[1]}}, {v[0], v[1]});
}

// The grids of these kernels show that the output is M x K, and N is contracted.
OperatorCall linear(const KernelShape& shape, DType dtype, Values v) {
  return make(shape, dtype, {{v[0], v[1], v[2]}, {v[3], v[2]}}, {v[0], v[1], v[3]});
}

OperatorCall bmm(const KernelShape& shape, DType dtype, Values v) {
  return make(shape, dtype, {{v[0], v[1], v[2]}, {v[0], v[2], v[3]}}, {v[0], v[1], v[3]});
}

OperatorCall convolution(const KernelShape& shape, DType dtype, Values v) {
  const auto [batch, in, out, kernel, size] = std::tuple(v[0], v[1], v[2], v[3], v[4]);
  const std::int64_t result = std::max<std::int64_t>((size + 2 * v[6] - kernel) / v[5] + 1, 0);
  return make(shape, dtype, {{batch, in, size, size}, {out, in, kernel, kernel}},
              {batch, out, result, result});
}

constexpr std::array kShapes = std::to_array<KernelShape>({
    {"add", kRows, binary, "aten::add", "Tensor"},
    {"mul", kRows, binary, "aten::mul", "Tensor"},
    {"div", kRows, binary, "aten::div", "Tensor"},
    {"pow", kRows, binary, "aten::pow", "Tensor_Tensor"},
    {"addu", kRows, unary, "aten::add", "Scalar"},
    {"mulu", kRows, unary, "aten::mul", "Scalar"},
    {"divu", kRows, unary, "aten::div", "Scalar"},
    {"powu", kRows, unary, "aten::pow", "Tensor_Scalar"},
    {"relu", kRows, unary, "aten::relu", ""},
    {"gelu", kRows, unary, "aten::gelu", ""},
    {"tanh", kRows, unary, "aten::tanh", ""},
    {"softmax", kRows, unary, "aten::softmax", "int"},
    {"ln", kRows, layer_norm, "aten::layer_norm", ""},
    {"linear", kProduct, linear, "aten::linear", ""},
    {"bmm", kProduct, bmm, "aten::bmm", ""},
    {"conv", kConvolution, convolution, "aten::conv2d", ""},
});

}  // namespace

const KernelShape* find_kernel_shape(std::string_view name) {
  const auto* const found = std::ranges::find(kShapes, name, &KernelShape::name);
  return found == kShapes.end() ? nullptr : found;
}

}  // namespace understudy::predictor
