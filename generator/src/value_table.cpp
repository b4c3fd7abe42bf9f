#include <algorithm>
#include <array>

#include "value_rules.h"

namespace understudy::generator {
namespace {

constexpr std::int64_t kByDimArgument = -1;

// Sorted by operator: looked up by binary search.
constexpr auto kRules = std::to_array<ArgumentRule>({
    {"aten::_addmm_activation", "self", Meaning::kSmall},
    {"aten::_convolution", "bias", Meaning::kSmall},
    {"aten::_embedding_bag", "indices", Meaning::kIndex, "weight", 0},
    {"aten::_embedding_bag", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_embedding_bag_forward_only", "indices", Meaning::kIndex, "weight", 0},
    {"aten::_embedding_bag_forward_only", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_foreach_lerp_", "self", Meaning::kSmall},
    {"aten::_foreach_log", "self", Meaning::kPositive},
    {"aten::_foreach_sqrt", "self", Meaning::kSecondMoment},
    {"aten::_foreach_sqrt_", "self", Meaning::kSecondMoment},
    {"aten::_fused_adagrad_", "state_steps", Meaning::kStepCount},
    {"aten::_fused_adagrad_", "state_sums", Meaning::kSecondMoment},
    {"aten::_fused_adam_", "exp_avg_sqs", Meaning::kSecondMoment},
    {"aten::_fused_adam_", "exp_avgs", Meaning::kSmall},
    {"aten::_fused_adam_", "max_exp_avg_sqs", Meaning::kSecondMoment},
    {"aten::_fused_adam_", "state_steps", Meaning::kStepCount},
    {"aten::_fused_adamw_", "exp_avg_sqs", Meaning::kSecondMoment},
    {"aten::_fused_adamw_", "exp_avgs", Meaning::kSmall},
    {"aten::_fused_adamw_", "max_exp_avg_sqs", Meaning::kSecondMoment},
    {"aten::_fused_adamw_", "state_steps", Meaning::kStepCount},
    {"aten::_fused_sgd_", "momentum_buffer_list", Meaning::kSmall},
    {"aten::_index_put_impl_", "indices", Meaning::kIndexList, "self"},
    {"aten::_unsafe_index", "indices", Meaning::kIndexList, "self"},
    {"aten::_unsafe_index_put", "indices", Meaning::kIndexList, "self"},
    {"aten::addmm", "self", Meaning::kSmall},
    {"aten::addmv", "self", Meaning::kSmall},
    {"aten::argwhere", "self", Meaning::kSelectsResult},
    {"aten::batch_norm", "bias", Meaning::kSmall},
    {"aten::batch_norm", "running_mean", Meaning::kSmall},
    {"aten::batch_norm", "running_var", Meaning::kPositive},
    {"aten::batch_norm", "weight", Meaning::kScale},
    {"aten::bernoulli", "self", Meaning::kProbability},
    {"aten::binary_cross_entropy", "self", Meaning::kProbability},
    {"aten::binary_cross_entropy", "target", Meaning::kProbability},
    {"aten::binary_cross_entropy_backward", "self", Meaning::kProbability},
    {"aten::binary_cross_entropy_with_logits", "target", Meaning::kProbability},
    {"aten::conv1d", "bias", Meaning::kSmall},
    {"aten::conv2d", "bias", Meaning::kSmall},
    {"aten::conv3d", "bias", Meaning::kSmall},
    {"aten::conv_transpose1d", "bias", Meaning::kSmall},
    {"aten::conv_transpose2d", "bias", Meaning::kSmall},
    {"aten::convolution", "bias", Meaning::kSmall},
    {"aten::cross_entropy_loss", "target", Meaning::kClass, "self"},
    {"aten::cudnn_batch_norm", "bias", Meaning::kSmall},
    {"aten::cudnn_batch_norm", "running_mean", Meaning::kSmall},
    {"aten::cudnn_batch_norm", "running_var", Meaning::kPositive},
    {"aten::cudnn_batch_norm", "weight", Meaning::kScale},
    {"aten::cudnn_batch_norm_backward", "running_var", Meaning::kPositive},
    {"aten::cudnn_batch_norm_backward", "save_var", Meaning::kPositive},
    {"aten::cudnn_batch_norm_backward", "weight", Meaning::kScale},
    {"aten::embedding", "indices", Meaning::kIndex, "weight", 0},
    {"aten::embedding_backward", "indices", Meaning::kIndexBelow, "num_weights"},
    {"aten::embedding_bag", "indices", Meaning::kIndex, "weight", 0},
    {"aten::embedding_bag", "offsets", Meaning::kOffsets, "indices"},
    {"aten::embedding_dense_backward", "indices", Meaning::kIndexBelow, "num_weights"},
    {"aten::embedding_renorm_", "indices", Meaning::kIndex, "self", 0},
    {"aten::embedding_sparse_backward", "indices", Meaning::kIndexBelow, "num_weights"},
    {"aten::gather", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::gather_backward", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::group_norm", "bias", Meaning::kSmall},
    {"aten::group_norm", "weight", Meaning::kScale},
    {"aten::index", "indices", Meaning::kIndexList, "self"},
    {"aten::index_add", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_add_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_copy", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_copy_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_fill", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_fill_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_put", "indices", Meaning::kIndexList, "self"},
    {"aten::index_put_", "indices", Meaning::kIndexList, "self"},
    {"aten::index_reduce_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::index_select", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::layer_norm", "bias", Meaning::kSmall},
    {"aten::layer_norm", "weight", Meaning::kScale},
    {"aten::lerp_", "self", Meaning::kSmall},
    {"aten::linear", "bias", Meaning::kSmall},
    {"aten::log", "self", Meaning::kPositive},
    {"aten::log10", "self", Meaning::kPositive},
    {"aten::log1p", "self", Meaning::kPositive},
    {"aten::log2", "self", Meaning::kPositive},
    {"aten::log_", "self", Meaning::kPositive},
    {"aten::masked_scatter", "mask", Meaning::kSelectsAll, "source"},
    {"aten::masked_scatter_", "mask", Meaning::kSelectsAll, "source"},
    {"aten::masked_scatter_backward", "mask", Meaning::kSelectsResult},
    {"aten::masked_select", "mask", Meaning::kSelectsResult},
    {"aten::masked_select_backward", "mask", Meaning::kSelectsAll, "grad"},
    {"aten::multinomial", "self", Meaning::kProbability},
    {"aten::native_batch_norm", "bias", Meaning::kSmall},
    {"aten::native_batch_norm", "running_mean", Meaning::kSmall},
    {"aten::native_batch_norm", "running_var", Meaning::kPositive},
    {"aten::native_batch_norm", "weight", Meaning::kScale},
    {"aten::native_batch_norm_backward", "running_var", Meaning::kPositive},
    {"aten::native_batch_norm_backward", "save_invstd", Meaning::kPositive},
    {"aten::native_batch_norm_backward", "weight", Meaning::kScale},
    {"aten::native_dropout_backward", "mask", Meaning::kKeepMask},
    {"aten::native_group_norm", "bias", Meaning::kSmall},
    {"aten::native_group_norm", "weight", Meaning::kScale},
    {"aten::native_group_norm_backward", "rstd", Meaning::kPositive},
    {"aten::native_layer_norm", "bias", Meaning::kSmall},
    {"aten::native_layer_norm", "weight", Meaning::kScale},
    {"aten::native_layer_norm_backward", "rstd", Meaning::kPositive},
    {"aten::native_layer_norm_backward", "weight", Meaning::kScale},
    {"aten::nll_loss", "target", Meaning::kClass, "self"},
    {"aten::nll_loss2d", "target", Meaning::kClass, "self"},
    {"aten::nll_loss2d_backward", "target", Meaning::kClass, "self"},
    {"aten::nll_loss2d_forward", "target", Meaning::kClass, "self"},
    {"aten::nll_loss_backward", "target", Meaning::kClass, "self"},
    {"aten::nll_loss_forward", "target", Meaning::kClass, "self"},
    {"aten::nll_loss_nd", "target", Meaning::kClass, "self"},
    {"aten::nonzero", "self", Meaning::kSelectsResult},
    {"aten::nonzero_numpy", "self", Meaning::kSelectsResult},
    {"aten::one_hot", "self", Meaning::kIndexBelow, "num_classes"},
    {"aten::put_", "index", Meaning::kIndex, "self", 0},
    {"aten::repeat_interleave", "repeats", Meaning::kLengthsOfResult, "", 0},
    {"aten::rsqrt", "self", Meaning::kPositive},
    {"aten::rsqrt_", "self", Meaning::kPositive},
    {"aten::scatter", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::scatter_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::scatter_add", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::scatter_add_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::scatter_reduce", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::scatter_reduce_", "index", Meaning::kIndex, "self", kByDimArgument},
    {"aten::sqrt", "self", Meaning::kSecondMoment},
    {"aten::sqrt_", "self", Meaning::kSecondMoment},
    {"aten::take", "index", Meaning::kIndex, "self", 0},
    {"aten::take_along_dim", "indices", Meaning::kIndex, "self", kByDimArgument},
    {"aten::where", "condition", Meaning::kSelectsResult},
    {"fbgemm::asynchronous_complete_cumsum", "t_in", Meaning::kLengthsOfResult},
    {"fbgemm::bounds_check_indices", "offsets", Meaning::kOffsets, "indices"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "D_offsets", Meaning::kTableColumns,
     "total_D"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "hash_size_cumsum", Meaning::kTableRows,
     "dev_weights"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "indices", Meaning::kIndex, "dev_weights"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "momentum1_dev", Meaning::kSecondMoment},
    {"fbgemm::dense_embedding_codegen_lookup_function", "momentum1_host", Meaning::kSecondMoment},
    {"fbgemm::dense_embedding_codegen_lookup_function", "momentum1_offsets", Meaning::kTableOffsets,
     "dev_weights"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "momentum2_dev", Meaning::kSecondMoment},
    {"fbgemm::dense_embedding_codegen_lookup_function", "momentum2_host", Meaning::kSecondMoment},
    {"fbgemm::dense_embedding_codegen_lookup_function", "momentum2_offsets", Meaning::kTableOffsets,
     "dev_weights"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "offsets", Meaning::kOffsets, "indices"},
    {"fbgemm::dense_embedding_codegen_lookup_function", "weights_offsets", Meaning::kTableOffsets,
     "dev_weights"},
    {"fbgemm::permute_1D_sparse_data", "lengths", Meaning::kLengths, "values"},
    {"fbgemm::permute_1D_sparse_data", "permute", Meaning::kPermutation},
    {"fbgemm::permute_2D_sparse_data", "lengths", Meaning::kLengths, "values"},
    {"fbgemm::permute_2D_sparse_data", "permute", Meaning::kPermutation},
});

static_assert(std::ranges::is_sorted(kRules, {}, &ArgumentRule::op));

}  // namespace

std::span<const ArgumentRule> argument_rules() {
  return kRules;
}

std::span<const ArgumentRule> argument_rules(std::string_view op) {
  if (op.starts_with("fbgemm::split_embedding_codegen_lookup_")) {
    op = "fbgemm::dense_embedding_codegen_lookup_function";  // one name for each optimizer, the
                                                             // same tables
  }
  const auto range = std::ranges::equal_range(kRules, op, {}, &ArgumentRule::op);
  return {range.begin(), range.end()};
}

bool has_pinned_results(std::string_view op) {
  constexpr std::array kPinned = {
      std::string_view("aten::_unique"),    std::string_view("aten::_unique2"),
      std::string_view("aten::bincount"),   std::string_view("aten::unique_consecutive"),
      std::string_view("aten::unique_dim"), std::string_view("aten::unique_dim_consecutive"),
      std::string_view("torchvision::nms")};
  return std::ranges::find(kPinned, op) != kPinned.end();
}

}  // namespace understudy::generator
