#include <algorithm>
#include <array>

#include "value_table.h"

namespace understudy::generator {
namespace {

// Data of several lengths in one tensor. Sorted by operator: looked up by binary search.
constexpr auto kJaggedRules = std::to_array<ArgumentRule>({
    {"aten::_grouped_mm", "offs", Meaning::kEnds, "self"},
    {"aten::_jagged_to_padded_dense_forward", "offsets", Meaning::kOffsets, "values"},
    {"aten::_nested_view_from_jagged", "offsets", Meaning::kOffsets, "self"},
    {"aten::_padded_dense_to_jagged_forward", "offsets", Meaning::kOffsets, ""},
    {"aten::_scaled_grouped_mm", "offs", Meaning::kEnds, "self"},
    {"aten::_scaled_grouped_mm_v2", "offs", Meaning::kEnds, "self"},
    {"aten::_segment_reduce_backward", "lengths", Meaning::kLengths, "data"},
    {"aten::_segment_reduce_backward", "offsets", Meaning::kOffsets, "data"},
    {"aten::repeat_interleave", "repeats", Meaning::kLengthsOfResult, ""},
    {"aten::segment_reduce", "lengths", Meaning::kLengths, "data"},
    {"aten::segment_reduce", "offsets", Meaning::kOffsets, "data"},
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
    {"fbgemm::dense_to_jagged", "x_offsets", Meaning::kOffsets, ""},
    {"fbgemm::dense_to_jagged_forward", "x_offsets", Meaning::kOffsets, ""},
    {"fbgemm::jagged_2d_to_dense", "offsets", Meaning::kOffsets, "values"},
    {"fbgemm::jagged_dense_elementwise_add", "x_offsets", Meaning::kOffsets, "x_values"},
    {"fbgemm::jagged_dense_elementwise_mul", "x_offsets", Meaning::kOffsets, "x_values"},
    {"fbgemm::jagged_to_padded_dense", "offsets", Meaning::kOffsets, "values"},
    {"fbgemm::jagged_to_padded_dense_forward", "offsets", Meaning::kOffsets, "values"},
    {"fbgemm::permute_1D_sparse_data", "lengths", Meaning::kLengths, "values"},
    {"fbgemm::permute_1D_sparse_data", "permute", Meaning::kPermutation},
    {"fbgemm::permute_2D_sparse_data", "lengths", Meaning::kLengths, "values"},
    {"fbgemm::permute_2D_sparse_data", "permute", Meaning::kPermutation},
    {"fbgemm::segment_sum_csr", "csr_seg", Meaning::kOffsets, "values"},
});

static_assert(std::ranges::is_sorted(kJaggedRules, {}, &ArgumentRule::op));

}  // namespace

std::span<const ArgumentRule> jagged_rules() {
  return kJaggedRules;
}

}  // namespace understudy::generator
