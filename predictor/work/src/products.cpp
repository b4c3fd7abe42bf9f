#include "products.h"

#include <cmath>

namespace understudy::predictor {
namespace {

/// Returns true if the first argument is added to the product, as for addmm.
bool begins_with_addend(const OperatorCall& call) {
  return has_part(call, "addmm") || has_part(call, "baddbmm") || has_part(call, "addbmm");
}

/// Takes a convolution as an implicit product. Returns its FLOPs.
double as_product(const TensorLayout& result, const TensorLayout& weight, Work& work) {
  const double channels = std::max(size_at(weight, 0), 1.0);
  work.is_product = true;
  work.product = {1, channels, count(result) / channels, count(weight) / channels};
  return 2 * count(result) * work.product.k;
}

/// Up to two second gradients precede the gradient, the weight and the input. Each requires two
/// convolutions: for its part of the result's gradient, and for the other operand's gradient.
void set_double_backward(const std::vector<const TensorLayout*>& tensors, Work& work) {
  constexpr std::size_t kOthers = 3;
  if (tensors.size() <= kOthers) {
    return;
  }
  const std::size_t given = tensors.size() - kOthers;
  work.flops =
      2 * static_cast<double>(given) * as_product(*tensors[given], *tensors[given + 1], work);
}

/// Returns true for the kernels below scaled dot product attention, which use (batch, length,
/// heads, width), or concatenate all sequences in one dimension and add their offsets.
bool is_kernel(const OperatorCall& call) {
  return has_part(call, "::_flash_attention") || has_part(call, "::_efficient_attention");
}

double sequences_of(const OperatorCall& call, const TensorLayout& query) {
  if (!is_kernel(call) || query.sizes.size() != 3) {
    return query.sizes.size() == 4 ? std::max(size_at(query, 0), 1.0) : 1;
  }
  const auto starts = std::ranges::find_if(
      call.inputs, [](const TensorLayout& input) { return et_schema::is_integral(input.dtype); });
  return starts == call.inputs.end() ? 1 : std::max(count(*starts) - 1, 1.0);
}

double sequence_length(const OperatorCall& call, const TensorLayout& tensor, double sequences) {
  const bool is_joined = is_kernel(call) && tensor.sizes.size() == 3;
  return std::max(dimension(tensor, is_kernel(call) ? 3 : 2) / (is_joined ? sequences : 1), 1.0);
}

}  // namespace

/// Returns the factors of a product: floating-point inputs of two dimensions or more, in order.
std::vector<const TensorLayout*> matrices(const OperatorCall& call) {
  std::vector<const TensorLayout*> found;
  for (const TensorLayout& input : call.inputs) {
    if (input.sizes.size() >= 2 && !et_schema::is_integral(input.dtype)) {
      found.push_back(&input);
    }
  }
  return found;
}

void set_product(const OperatorCall& call, Work& work) {
  std::vector<const TensorLayout*> factors = matrices(call);
  if (begins_with_addend(call) && factors.size() > 2) {
    factors.erase(factors.begin());
  }
  const TensorLayout* const out = call.outputs.empty() ? nullptr : &call.outputs[0];
  if (factors.size() < 2) {
    // One side is a vector or scalar: each element is used once.
    work.flops = 2 * most_elements(call.inputs);
    return;
  }
  const double left = count(*factors[0]);
  const double right = count(*factors[1]);
  Product& product = work.product;
  product.k = std::max(dimension(*factors[0], 1), 1.0);
  const bool is_linear = has_part(call, "::linear");
  product.n = is_linear ? size_at(*factors[1], 0) : dimension(*factors[1], 1);
  const bool is_batched = !is_linear && factors[1]->sizes.size() > 2;
  product.m = is_batched ? dimension(*factors[0], 2) : left / product.k;
  product.batch = is_batched ? left / std::max(product.m * product.k, 1.0) : 1;
  double flops = 2 * product.batch * product.m * product.n * product.k;
  if (has_part(call, "einsum") && out != nullptr) {
    // The equation is unknown, so the contracted dimensions are, too. For a single product,
    // |a||b||out| = batch (batch m n k)^2.
    flops = 2 * std::sqrt(left * right * count(*out) / product.batch);
  }
  work.is_product = true;
  work.flops = has_part(call, "backward") ? 2 * flops : flops;
}

void set_convolution(const OperatorCall& call, Work& work) {
  const std::vector<const TensorLayout*> tensors = matrices(call);
  if (has_part(call, "convolution_double_backward")) {
    set_double_backward(tensors, work);
    return;
  }
  const bool is_backward = has_part(call, "backward");
  const std::size_t weight_at = is_backward ? 2 : 1;
  if (tensors.size() <= weight_at) {
    return;
  }
  const TensorLayout& weight = *tensors[weight_at];
  const TensorLayout* const result =
      is_backward ? tensors[0] : (call.outputs.empty() ? tensors[0] : &call.outputs[0]);
  // The weight's first dimension is the result's channels; of a transposed convolution, which makes
  // a larger result, the input's.
  const TensorLayout& input = *tensors[is_backward ? 1 : 0];
  const double channels = size_at(weight, 0);
  const bool is_transposed = size_at(input, 1) == channels &&
                             (size_at(*result, 1) != channels || count(input) < count(*result));
  const double flops = as_product(is_transposed ? input : *result, weight, work);
  const double gradients = sum_of(
      call.outputs, [](const TensorLayout& output) { return output.sizes.size() >= 2 ? 1 : 0; });
  work.flops = is_backward ? flops * std::max(gradients, 1.0) : flops;
}

void set_attention(const OperatorCall& call, Work& work) {
  const std::vector<const TensorLayout*> tensors = matrices(call);
  if (tensors.size() < 2) {
    return;
  }
  const bool is_backward = has_part(call, "backward");
  // Arguments of a backward pass start with the gradient, which has the query's shape.
  const TensorLayout& query = *tensors[0];
  const TensorLayout& key = *tensors[is_backward && tensors.size() > 2 ? 2 : 1];
  constexpr double kBackwardProducts = 2.5;  // five products instead of the forward pass's two
  Attention attention;
  attention.sequences = sequences_of(call, query);
  attention.queries = sequence_length(call, query, attention.sequences);
  attention.keys = sequence_length(call, key, attention.sequences);
  attention.width = std::max(dimension(query, 1), 1.0);
  attention.batch_heads = count(query) / (attention.queries * attention.width);
  const double key_heads = count(key) / (attention.keys * attention.width);
  attention.heads_of_key = std::max(attention.batch_heads / std::max(key_heads, 1.0), 1.0);
  attention.key_item_bytes = static_cast<double>(et_schema::item_size(key.dtype));
  // A causal query meets the keys up to its own, the last query all of them.
  const bool is_causal = !call.is_full && attention.keys >= attention.queries;
  const double met = attention.keys - (is_causal ? (attention.queries - 1) / 2 : 0);
  work.flops = 4 * count(query) * met * (is_backward ? kBackwardProducts : 1);
  work.attention = attention;
}

void set_experts(const OperatorCall& call, Work& work) {
  const std::vector<const TensorLayout*> tensors = matrices(call);
  if (tensors.size() < 3 || tensors[1]->sizes.size() != 3 || tensors[2]->sizes.size() != 3) {
    return;
  }
  const TensorLayout& first = *tensors[1];
  const TensorLayout& second = *tensors[2];
  Experts experts;
  experts.hidden = std::max(dimension(*tensors[0], 1), 1.0);
  experts.tokens = count(*tensors[0]) / experts.hidden;
  experts.experts = std::max(size_at(first, 0), 1.0);
  experts.inner = std::max(dimension(second, 1), 1.0);
  const auto numbers = std::ranges::find_if(call.inputs, [](const TensorLayout& input) {
    return input.sizes.size() == 2 && et_schema::is_integral(input.dtype);
  });
  experts.chosen = numbers == call.inputs.end() ? 1 : dimension(*numbers, 1);
  const double routed = experts.tokens * experts.chosen;
  experts.hit = experts.experts * (1 - std::pow(1 - 1 / experts.experts, routed));
  experts.weight_bytes =
      experts.hit / experts.experts * (stored_bytes(first) + stored_bytes(second));
  const double between = dimension(first, 2);  // a gate and a value for each inner element
  work.flops = 2 * routed * experts.hidden * (between + experts.inner);
  const auto item = static_cast<double>(et_schema::item_size(tensors[0]->dtype));
  const double tokens_bytes = experts.tokens * experts.hidden * item;
  work.read_bytes =
      experts.weight_bytes + tokens_bytes + routed * (experts.hidden + experts.inner) * item;
  work.write_bytes = tokens_bytes + routed * (between + experts.hidden) * item;
  work.experts = experts;
}

}  // namespace understudy::predictor
