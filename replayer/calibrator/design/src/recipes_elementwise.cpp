// Elementwise operators, losses over elements, random numbers, optimizers.
#include <array>

#include "recipe_tables.h"

namespace understudy::calibrator {
namespace {

constexpr const char* kList = "t:1..200 n:1..1048576";
constexpr int kOften = 2;

constexpr std::array kElementwiseRecipes = std::to_array<Recipe>({
    {"aten::relu", kElements, "{n}"},
    {"aten::relu_", kElements, "{n}"},
    {"aten::gelu", kElements, "{n} \"none\""},
    {"aten::gelu", kElements, "{n} \"tanh\""},
    {"aten::gelu_backward", kElements, "{n} {n} \"none\""},
    {"aten::gelu_backward", kElements, "{n} {n} \"tanh\""},
    {"aten::silu", kElements, "{n}"},
    {"aten::silu_backward", kElements, "{n} {n}"},
    {"aten::sigmoid", kElements, "{n}"},
    {"aten::sigmoid_backward", kElements, "{n} {n}"},
    {"aten::tanh", kElements, "{n}"},
    {"aten::tanh_backward", kElements, "{n} {n}"},
    {"aten::threshold_backward", kElements, "{n} {n} 0"},
    {"aten::leaky_relu", kElements, "{n} 0.01"},
    {"aten::exp", kElements, "{n}"},
    {"aten::log", kElements, "{n}z"},
    {"aten::sqrt", kElements, "{n}z", "0", kOften},
    {"aten::sqrt_", kElements, "{n}z"},
    {"aten::rsqrt", kElements, "{n}"},
    {"aten::reciprocal", kElements, "{n}"},
    {"aten::neg", kElements, "{n}"},
    {"aten::abs", kElements, "{n}"},
    {"aten::cos", kElements, "{n}"},
    {"aten::sin", kElements, "{n}"},
    {"aten::erf", kElements, "{n}"},
    {"aten::pow.Tensor_Scalar", kElements, "{n} 2"},
    {"aten::clamp", kElements, "{n} 0.1 0.9"},
    {"aten::add.Tensor", kElements, "{n} {n}", "0", kOften},
    {"aten::add.Tensor", kMatrix, "{r,c} {c}"},
    {"aten::add.Tensor", kMatrix, "{r,c}' {r,c}"},
    {"aten::add.Tensor", "n:1..1024", "i{} 1"},
    {"aten::add_.Tensor", kElements, "{n} {n}", "0", kOften},
    {"aten::add_.Tensor", kElements, "{n} {n} 0.5", "0", kOften},
    {"aten::add_.Tensor", kMatrix, "{r,c} {r,c}'"},
    {"aten::sub.Tensor", kElements, "{n} {n}"},
    {"aten::sub_.Tensor", kElements, "{n} {n}"},
    {"aten::mul.Tensor", kElements, "{n} {n}", "0", kOften},
    {"aten::mul.Tensor", kMatrix, "{r,c} {r,1}"},
    {"aten::mul.Tensor", kElements, "{n} w{}"},
    {"aten::mul.Scalar", kElements, "{n} 0.5"},
    {"aten::mul_.Tensor", kElements, "{n} {n}"},
    {"aten::mul_.Tensor", kElements, "{n} w{}", "0", kOften},
    {"aten::div.Tensor", kElements, "{n} {n}"},
    {"aten::div.Tensor", kElements, "{n} w{}"},
    {"aten::div.Scalar", kElements, "{n} 2.0"},
    {"aten::div_.Tensor", kElements, "{n} w{}"},
    {"aten::div_.Scalar", kElements, "{n} 2.0"},
    {"aten::maximum", kElements, "{n} {n}"},
    {"aten::eq.Tensor", kElements, "{n} {n}"},
    {"aten::gt.Scalar", kElements, "{n} 0"},
    {"aten::where.self", kElements, "b{n} {n} {n}"},
    {"aten::addcmul_", kElements, "{n} {n} {n} 0.5", "0", kOften},
    {"aten::addcdiv_", kElements, "{n} {n} {n} 0.5", "0", kOften},
    {"aten::addcmul", kElements, "{n} {n} {n} 0.5"},
    {"aten::addcdiv", kElements, "{n} {n} {n} 0.5"},
    {"aten::lerp_.Scalar", kElements, "{n} {n} 0.1", "0", kOften},
    {"aten::binary_cross_entropy_with_logits", kElements, "{n} {n}"},
    {"aten::fill_.Scalar", kElements, "{n} 0.5"},
    {"aten::zero_", kElements, "{n}"},
    {"aten::bernoulli_.float", kElements, "{n} 0.9"},
    {"aten::uniform_", kElements, "{n}"},
    {"aten::normal_", kElements, "{n}"},
    {"aten::native_dropout", kElements, "{n} 0.1 true"},
    {"aten::native_dropout_backward", kElements, "{n} b{n} 1.1"},

    {"aten::_foreach_add_.Scalar", kList, "[t*{n}] 1"},
    {"aten::_foreach_add_.Scalar", "t:1..200", "[t*{}] 1"},
    {"aten::_foreach_add_.List", kList, "[t*{n}] [t*{n}] 0.5"},
    {"aten::_foreach_add.List", kList, "[t*{n}] [t*{n}] 0.5"},
    {"aten::_foreach_mul_.Scalar", kList, "[t*{n}] 0.999"},
    {"aten::_foreach_mul_.Tensor", kList, "[t*{n}] {}"},
    {"aten::_foreach_mul.Scalar", kList, "[t*{n}] 0.999"},
    {"aten::_foreach_lerp_.Scalar", kList, "[t*{n}] [t*{n}] 0.1"},
    {"aten::_foreach_addcmul_.Scalar", kList, "[t*{n}] [t*{n}] [t*{n}] 0.001"},
    {"aten::_foreach_addcdiv_.ScalarList", kList, "[t*{n}] [t*{n}] [t*{n}] [t*-0.001]"},
    {"aten::_foreach_addcdiv_.Scalar", kList, "[t*{n}] [t*{n}] [t*{n}] -0.001"},
    {"aten::_foreach_div_.ScalarList", kList, "[t*{n}] [t*0.9]"},
    {"aten::_foreach_sqrt", kList, "[t*{n}z]"},
    {"aten::_foreach_norm.Scalar", kList, "[t*{n}] 2"},
    {"aten::_fused_adamw_", kList,
     "[t*{n}] [t*{n}] [t*{n}] [t*{n}] [] [t*f{}] 0.001 0.9 0.999 0.01 1e-8 false false", "0",
     kOften},
    {"aten::_fused_adam_", kList,
     "[t*{n}] [t*{n}] [t*{n}] [t*{n}] [] [t*f{}] 0.001 0.9 0.999 0.01 1e-8 false false"},
    {"aten::_fused_sgd_", kList, "[t*{n}] [t*{n}] [t*{n}] 0.0 0.9 0.001 0.0 false false false"},
});

}  // namespace

std::span<const Recipe> elementwise_recipes() {
  return kElementwiseRecipes;
}

}  // namespace understudy::calibrator
