// Views, copies, allocations, element-wise operators: no argument needs particular values.
#include "operator_rows.h"

namespace understudy::et_schema::operator_rows {
using enum Meaning;
using enum BatchRule;
using enum Recorded;

namespace {

constexpr std::string_view kPins = "memory is pinned for copies to an accelerator";

constexpr OperatorRow kTensorRows[] = {
    {"abs dropout empty_like eq exp ge gelu gelu_backward gt le _log_softmax log_softmax "
     "_log_softmax_backward_data lt native_dropout ne relu resolve_conj resolve_neg sigmoid "
     "sigmoid_backward sign silu silu_backward _softmax softmax _softmax_backward_data tanh "
     "tanh_backward threshold_backward",
     {.batch = kBroadcast}},
    {"_adaptive_avg_pool2d cudnn_convolution max_pool2d miopen_convolution mkldnn_convolution "
     "_scaled_dot_product_cudnn_attention _scaled_dot_product_flash_attention",
     {.batch = kLeading}},
    {"adaptive_avg_pool2d avg_pool2d max_pool2d_with_indices", {.batch = kLeading}},
    {"_adaptive_avg_pool2d_backward avg_pool2d_backward smooth_l1_loss_backward",
     {.batch = kLikeSecond}},
    {"add mul", {.batch = kBroadcast, .leaves_range = true, .keeps_positive = true}},
    {"addcmul clamp clamp_min", {.batch = kBroadcast, .keeps_positive = true}},
    {"alias detach", {.batch = kBroadcast, .shows = true}},
    {"allclose equal is_nonzero", {.host_wait = HostWait::kAlways}},
    {"all amax amin any argmax argmin", {.batch = kReduce}},
    {"__and__ __or__", {.joins_masks = true}},
    {"argsort tril triu", {.batch = kLikeFirst}},
    {"as_strided", {.shows = true, .takes_strides = true}},
    {"bincount _unique2 unique_consecutive unique_dim",
     {.arguments = {{"self", kData, "", 0, kReuse}},
      .host_wait = HostWait::kAlways,
      .counts = true}},
    {"bitwise_and bitwise_or logical_and logical_or", {.batch = kBroadcast, .joins_masks = true}},
    {"bitwise_left_shift", {.leaves_range = true}},
    {"bitwise_not logical_not", {.batch = kBroadcast, .negates_mask = true}},
    {"bmm matmul mm", {.batch = kProduct, .keeps_positive = true}},
    {"broadcast_tensors ceil clamp_max conj cos elu elu_backward erf expm1 floor hardsigmoid "
     "hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward isfinite isinf "
     "isnan leaky_relu leaky_relu_backward minimum mish mish_backward outer polar sin softplus "
     "softplus_backward square",
     {.batch = kBroadcast}},
    {"cat", {.batch = kConcatenate, .moves = "tensors", .order = MovedOrder::kOther}},
    {"cauchy exponential geometric log_normal rand randint randint_like randn random uniform",
     {.draws = true}},
    {"chunk split split_with_sizes", {.batch = kPartAlongSecond}},
    {"clone contiguous", {.batch = kBroadcast, .moves = "self"}},
    {"_coalesce", {.host_wait = HostWait::kAlways, .part = SparsePart::kCoalesced}},
    {"coalesce", {.part = SparsePart::kCoalesced}},
    {"_coalesced cudnn_is_acceptable _dimI _dimV _has_compatible_shallow_copy_type "
     "_has_same_storage_numel _nnz result_type size stride",
     {.asks = true}},
    {"constant_pad_nd expand_copy repeat", {.moves = "self", .order = MovedOrder::kOther}},
    {"convolution_backward", {.batch = kLikeSecond}},
    {"copy", {.batch = kBroadcast, .moves = "src", .host_wait = HostWait::kCopy}},
    {"cumsum", {.batch = kLikeFirst, .leaves_range = true}},
    {"empty_strided", {.takes_strides = true}},
    {"expand", {.batch = kExpand}},
    {"expand_as", {.arguments = {{"other", kTemplate}}, .batch = kExpand}},
    {"fill ones_like zero zeros_like", {.batch = kBroadcast, .fills = true}},
    {"flatten unflatten _unsafe_view", {.batch = kReshape}},
    {"flip roll", {.batch = kLikeFirst, .moves = "self", .order = MovedOrder::kOther}},
    {"_foreach_add _foreach_maximum _foreach_mul", {.keeps_positive = true}},
    {"full ones zeros", {.fills = true}},
    {"full_like", {.fills = true}},
    {"_indices indices", {.batch = kSparseIndices, .part = SparsePart::kIndices}},
    {"is_pinned", {.not_on_cpu = kPins}},
    {"item _local_scalar_dense", {.host_wait = HostWait::kAlways}},
    {"l1_loss smooth_l1_loss", {.batch = kLoss}},
    {"lift lift_fresh_copy _reshape_copy view_copy", {.moves = "self"}},
    {"lift_fresh", {.batch = kBroadcast, .moves = "self"}},
    {"maximum", {.batch = kBroadcast, .keeps_positive = true}},
    {"mean", {.batch = kReduce, .keeps_positive = true}},
    {"mkldnn_rnn_layer", {.part_written = 3}},
    {"mse_loss", {.batch = kLoss}},
    {"mse_loss_backward", {.batch = kLikeSecond}},
    {"narrow select slice", {.batch = kPartAlongFirst, .shows = true}},
    {"neg rsub sub", {.batch = kBroadcast, .leaves_range = true}},
    {"new_empty", {.batch = kFactory}},
    {"new_empty_strided", {.takes_strides = true}},
    {"new_full new_zeros", {.batch = kFactory, .fills = true}},
    {"new_ones", {.batch = kFactory, .fills = true}},
    {"permute", {.batch = kPermute}},
    {"_pin_memory pin_memory", {.moves = "self", .not_on_cpu = kPins}},
    {"rand_like randn_like", {.batch = kBroadcast, .draws = true}},
    {"record_stream", {.asks = true, .not_on_cpu = "the CPU has no streams"}},
    {"reshape", {.batch = kReshape, .moves = "self"}},
    {"_reshape_alias", {.batch = kReshape, .takes_strides = true}},
    {"reshape_as", {.batch = kReshape}},
    {"_scaled_dot_product_cudnn_attention_backward "
     "_scaled_dot_product_efficient_attention_backward "
     "_scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_flash_attention_for_cpu_backward",
     {.batch = kLikeNextThree}},
    {"select_backward slice_backward", {.batch = kPartBackward}},
    {"sort",
     {.arguments = {{"self", kData, "", 0, kReuse}},
      .batch = kLikeFirstTwice,
      .moves = "self",
      .order = MovedOrder::kSorted}},
    {"sparse_coo_tensor _sparse_coo_tensor_with_dims_and_tensors", {.batch = kConstant}},
    {"_sparse_coo_tensor_unsafe", {.batch = kConstant}},
    {"sparse_mask", {.keeps_positive = true}},
    {"squeeze unsqueeze", {.batch = kReshape}},
    {"stack", {.batch = kStack, .moves = "tensors", .order = MovedOrder::kOther}},
    {"sum", {.batch = kReduce}},
    {"t transpose", {.batch = kTranspose}},
    {"tensor_split", {.arguments = {{"tensor_indices_or_sections", kData, "", 0, kNothing, true}}}},
    {"to _to_copy", {.batch = kBroadcast, .moves = "self", .host_wait = HostWait::kCopy}},
    {"topk", {.arguments = {{"self", kData, "", 0, kReuse}}}},
    {"type_as", {.arguments = {{"other", kTemplate}}, .batch = kLikeFirst, .moves = "self"}},
    {"unbind", {.batch = kPartAlongFirst}},
    {"_unique", {.host_wait = HostWait::kAlways, .counts = true}},
    {"unsafe_split", {.batch = kPartAlongSecond}},
    {"_values values",
     {.batch = kSparseValues, .part = SparsePart::kValues, .keeps_positive = true}},
    {"view", {.batch = kReshape, .shows = true}},
    {"view_as", {.arguments = {{"other", kTemplate}}, .batch = kReshape}},
    {"view_as_complex", {.batch = kComplexOfPairs}},
    {"view_as_real", {.batch = kPairsOfComplex}},
    {"torchvision::nms unique_dim_consecutive", {.host_wait = HostWait::kAlways, .counts = true}},
};

}  // namespace

std::span<const OperatorRow> tensor_rows() {
  return kTensorRows;
}

}  // namespace understudy::et_schema::operator_rows
