#include "size_rules.h"

#include <set>

#include "et_schema/model/size_arguments.h"

namespace understudy::generator {
namespace {

using et_schema::base_name;
using Names = std::set<std::string_view>;

const Names& same() {
  static const Names kNames = {"_batch_norm_impl_index",
                               "_local_scalar_dense",
                               "_log_softmax",
                               "_log_softmax_backward_data",
                               "_softmax",
                               "_softmax_backward_data",
                               "_sparse_coo_tensor_unsafe",
                               "_to_copy",
                               "abs",
                               "add",
                               "addcdiv",
                               "addcmul",
                               "addmm",
                               "alias",
                               "baddbmm",
                               "bernoulli",
                               "binary_cross_entropy_with_logits",
                               "bmm",
                               "clamp",
                               "clamp_min",
                               "clone",
                               "contiguous",
                               "copy",
                               "cross_entropy_loss",
                               "detach",
                               "div",
                               "dot",
                               "dropout",
                               "embedding",
                               "embedding_backward",
                               "embedding_dense_backward",
                               "empty",
                               "empty_like",
                               "empty_strided",
                               "eq",
                               "exp",
                               "expand",
                               "expand_as",
                               "fill",
                               "full",
                               "ge",
                               "gelu",
                               "gelu_backward",
                               "gt",
                               "item",
                               "layer_norm",
                               "le",
                               "lerp",
                               "linalg_vector_norm",
                               "linear",
                               "log",
                               "log_softmax",
                               "lt",
                               "masked_fill",
                               "matmul",
                               "mean",
                               "mm",
                               "mse_loss",
                               "mse_loss_backward",
                               "mul",
                               "mv",
                               "native_batch_norm",
                               "native_batch_norm_backward",
                               "native_dropout",
                               "native_dropout_backward",
                               "native_layer_norm",
                               "native_layer_norm_backward",
                               "ne",
                               "neg",
                               "new_empty",
                               "new_full",
                               "new_zeros",
                               "nll_loss",
                               "nll_loss_backward",
                               "nll_loss_forward",
                               "norm",
                               "ones",
                               "ones_like",
                               "permute",
                               "pow",
                               "reciprocal",
                               "relu",
                               "resolve_conj",
                               "resolve_neg",
                               "rsqrt",
                               "rsub",
                               "sigmoid",
                               "sigmoid_backward",
                               "sign",
                               "silu",
                               "silu_backward",
                               "softmax",
                               "sqrt",
                               "squeeze",
                               "sub",
                               "sum",
                               "t",
                               "tanh",
                               "tanh_backward",
                               "threshold_backward",
                               "to",
                               "transpose",
                               "unsqueeze",
                               "where",
                               "zero",
                               "zeros",
                               "zeros_like"};
  return kNames;
}

}  // namespace

SizeRule size_rule(std::string_view op) {
  static const Names kReshapes = {"_reshape_alias", "_unsafe_view", "as_strided", "flatten",
                                  "reshape",        "unflatten",    "view"};
  static const Names kOneDim = {"cat",    "index_select", "narrow",           "select",
                                "slice",  "split",        "split_with_sizes", "stack",
                                "unbind", "chunk",        "select_backward",  "slice_backward"};
  static const Names kChannels = {"adaptive_avg_pool2d",
                                  "avg_pool2d",
                                  "conv1d",
                                  "conv2d",
                                  "conv3d",
                                  "convolution",
                                  "convolution_backward",
                                  "max_pool2d_with_indices",
                                  "max_pool2d_with_indices_backward"};
  static const Names kIndexed = {"_embedding_bag",
                                 "_embedding_bag_backward",
                                 "_embedding_bag_dense_backward",
                                 "_indices",
                                 "_values",
                                 "coalesce",
                                 "embedding_bag",
                                 "indices",
                                 "sparse_mask",
                                 "values"};
  const std::string_view name = base_name(op);
  const bool is_list = name.starts_with("_foreach_") || name.starts_with("_fused_adam") ||
                       name.starts_with("_fused_sgd");
  return is_list || same().contains(name) ? SizeRule::kSame
         : kReshapes.contains(name)       ? SizeRule::kReshaped
         : kOneDim.contains(name)         ? SizeRule::kOneDim
         : kChannels.contains(name)       ? SizeRule::kChannels
         : kIndexed.contains(name)        ? SizeRule::kIndexed
                                          : SizeRule::kUnknown;
}

bool indexes_rows(std::string_view op) {
  return base_name(op).find("embedding") != std::string_view::npos;
}

}  // namespace understudy::generator
