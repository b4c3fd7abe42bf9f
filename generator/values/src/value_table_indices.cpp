#include <algorithm>
#include <array>

#include "value_table.h"

namespace understudy::generator {
namespace {

// Operators that take indices or masks. Sorted by operator: looked up by binary search.
constexpr auto kIndexRules = std::to_array<ArgumentRule>({
    {"aten::_convert_indices_from_coo_to_csr", "self", Meaning::kMonotone, "size"},
    {"aten::_convert_indices_from_csr_to_coo", "crow_indices", Meaning::kOffsets, "col_indices"},
    {"aten::_embedding_bag", "indices", Meaning::kIndex, "weight"},
    {"aten::_embedding_bag", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_embedding_bag_backward", "bag_size", Meaning::kLengths, "indices"},
    {"aten::_embedding_bag_backward", "indices", Meaning::kIndex, "num_weights"},
    {"aten::_embedding_bag_backward", "maximum_indices", Meaning::kIndex, "num_weights"},
    {"aten::_embedding_bag_backward", "offset2bag", Meaning::kMonotone, "grad"},
    {"aten::_embedding_bag_backward", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_embedding_bag_dense_backward", "bag_size", Meaning::kLengths, "indices"},
    {"aten::_embedding_bag_dense_backward", "indices", Meaning::kIndex, "num_weights"},
    {"aten::_embedding_bag_dense_backward", "maximum_indices", Meaning::kIndex, "num_weights"},
    {"aten::_embedding_bag_dense_backward", "offset2bag", Meaning::kMonotone, "grad"},
    {"aten::_embedding_bag_forward_only", "indices", Meaning::kIndex, "weight"},
    {"aten::_embedding_bag_forward_only", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_embedding_bag_per_sample_weights_backward", "indices", Meaning::kIndex, "weight"},
    {"aten::_embedding_bag_per_sample_weights_backward", "offset2bag", Meaning::kMonotone, "grad"},
    {"aten::_embedding_bag_per_sample_weights_backward", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_embedding_bag_sparse_backward", "bag_size", Meaning::kLengths, "indices"},
    {"aten::_embedding_bag_sparse_backward", "indices", Meaning::kIndex, "num_weights"},
    {"aten::_embedding_bag_sparse_backward", "offset2bag", Meaning::kMonotone, "grad"},
    {"aten::_embedding_bag_sparse_backward", "offsets", Meaning::kOffsets, "indices"},
    {"aten::_gather_sparse_backward", "index", Meaning::kIndex, "self", kByDim},
    {"aten::_index_put_impl", "indices", Meaning::kIndexList, "self"},
    {"aten::_masked_softmax", "mask", Meaning::kHides},
    {"aten::_native_multi_head_attention", "mask", Meaning::kHides},
    {"aten::_scaled_dot_product_attention_math", "attn_mask", Meaning::kShows},
    {"aten::_scaled_dot_product_efficient_attention", "attn_bias", Meaning::kShows},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", "attn_mask", Meaning::kShows},
    {"aten::_transformer_encoder_layer_fwd", "mask", Meaning::kHides},
    {"aten::_unsafe_index", "indices", Meaning::kIndexList, "self"},
    {"aten::_unsafe_index_put", "indices", Meaning::kIndexList, "self"},
    {"aten::_unsafe_masked_index", "indices", Meaning::kIndexList, "self"},
    {"aten::_unsafe_masked_index_put_accumulate", "indices", Meaning::kIndexList, "self"},
    {"aten::adaptive_max_pool2d_backward", "indices", Meaning::kPlaneIndex, "self", 2},
    {"aten::adaptive_max_pool3d_backward", "indices", Meaning::kPlaneIndex, "self", 3},
    {"aten::argwhere", "self", Meaning::kSelectsResult},
    {"aten::bucketize", "boundaries", Meaning::kAscending},
    {"aten::cummaxmin_backward", "indices", Meaning::kIndex, "input", kByDim},
    {"aten::embedding", "indices", Meaning::kIndex, "weight"},
    {"aten::embedding_backward", "indices", Meaning::kIndex, "num_weights"},
    {"aten::embedding_bag", "indices", Meaning::kIndex, "weight"},
    {"aten::embedding_bag", "offsets", Meaning::kOffsets, "indices"},
    {"aten::embedding_dense_backward", "indices", Meaning::kIndex, "num_weights"},
    {"aten::embedding_renorm", "indices", Meaning::kIndex, "self"},
    {"aten::embedding_sparse_backward", "indices", Meaning::kIndex, "num_weights"},
    {"aten::fractional_max_pool2d_backward", "indices", Meaning::kPlaneIndex, "self", 2},
    {"aten::fractional_max_pool3d_backward", "indices", Meaning::kPlaneIndex, "self", 3},
    {"aten::gather", "index", Meaning::kIndex, "self", kByDim},
    {"aten::gather_backward", "index", Meaning::kIndex, "self", kByDim},
    {"aten::index", "indices", Meaning::kIndexList, "self"},
    {"aten::index_add", "index", Meaning::kIndex, "self", kByDim},
    {"aten::index_copy", "index", Meaning::kIndex, "self", kByDim},
    {"aten::index_fill", "index", Meaning::kIndex, "self", kByDim},
    {"aten::index_put", "indices", Meaning::kIndexList, "self"},
    {"aten::index_reduce", "index", Meaning::kIndex, "self", kByDim},
    {"aten::index_select", "index", Meaning::kIndex, "self", kByDim},
    {"aten::index_select_backward", "index", Meaning::kIndex, "self_sizes", kByDim},
    {"aten::masked_fill", "mask", Meaning::kHides},
    {"aten::masked_scatter", "mask", Meaning::kSelectsAll, "source"},
    {"aten::masked_scatter_backward", "mask", Meaning::kSelectsResult},
    {"aten::masked_select", "mask", Meaning::kSelectsResult},
    {"aten::masked_select_backward", "mask", Meaning::kSelectsAll, "grad"},
    {"aten::max_pool2d_with_indices_backward", "indices", Meaning::kPlaneIndex, "self", 2},
    {"aten::max_pool3d_with_indices_backward", "indices", Meaning::kPlaneIndex, "self", 3},
    {"aten::max_unpool2d", "indices", Meaning::kPlaneIndex, "", 2},
    {"aten::max_unpool3d", "indices", Meaning::kPlaneIndex, "", 3},
    {"aten::nonzero", "self", Meaning::kSelectsResult},
    {"aten::nonzero_numpy", "self", Meaning::kSelectsResult},
    {"aten::one_hot", "self", Meaning::kIndex, "num_classes"},
    {"aten::put", "index", Meaning::kPlaneIndex, "self", kAllDims},
    {"aten::scaled_dot_product_attention", "attn_mask", Meaning::kShows},
    {"aten::scatter", "index", Meaning::kIndex, "self", kByDim},
    {"aten::scatter_add", "index", Meaning::kIndex, "self", kByDim},
    {"aten::scatter_reduce", "index", Meaning::kIndex, "self", kByDim},
    {"aten::searchsorted", "sorted_sequence", Meaning::kAscending},
    {"aten::searchsorted", "sorter", Meaning::kPermutation},
    {"aten::take", "index", Meaning::kPlaneIndex, "self", kAllDims},
    {"aten::take_along_dim", "indices", Meaning::kIndex, "self", kByDim},
    {"aten::value_selecting_reduction_backward", "indices", Meaning::kIndex, "sizes", kByDim},
    {"aten::where", "condition", Meaning::kCondition},
});

static_assert(std::ranges::is_sorted(kIndexRules, {}, &ArgumentRule::op));

}  // namespace

std::span<const ArgumentRule> index_rules() {
  return kIndexRules;
}

}  // namespace understudy::generator
