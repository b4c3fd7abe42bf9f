// Views, copies, allocations, element-wise operators: no argument needs particular values.
#include "operator_rows.h"

namespace understudy::et_schema::operator_rows {
using enum Meaning;
using enum Recorded;

namespace {

constexpr std::string_view kPins = "memory is pinned for copies to an accelerator";

constexpr OperatorRow kTensorRows[] = {
    {"add cumsum mul", {.leaves_range = true, .keeps_positive = true}},
    {"addcmul amax amin bmm clamp clamp_min dot _foreach_add _foreach_maximum _foreach_mul ger "
     "matmul max maximum mean min minimum mm mv nan_to_num outer prod round sparse_mask sum",
     {.keeps_positive = true}},
    {"alias as_strided detach narrow select slice view", {.shows = true}},
    {"allclose equal is_nonzero item _local_scalar_dense", {.host_wait = HostWait::kAlways}},
    {"__and__ bitwise_and bitwise_or logical_and logical_or __or__", {.joins_masks = true}},
    {"bincount _unique2 unique_consecutive unique_dim",
     {.arguments = {{"self", kData, "", 0, kReuse}},
      .host_wait = HostWait::kAlways,
      .counts = true}},
    {"bitwise_left_shift neg rsub sub", {.leaves_range = true}},
    {"bitwise_not logical_not", {.negates_mask = true}},
    {"cat stack", {.moves = "tensors", .order = MovedOrder::kOther}},
    {"cauchy exponential geometric log_normal rand rand_like randint randint_like randn "
     "randn_like random uniform",
     {.draws = true}},
    {"clone contiguous lift lift_fresh lift_fresh_copy reshape _reshape_copy view_copy",
     {.moves = "self"}},
    {"_coalesce", {.host_wait = HostWait::kAlways, .part = SparsePart::kCoalesced}},
    {"coalesce", {.part = SparsePart::kCoalesced}},
    {"_coalesced cudnn_is_acceptable _dimI _dimV _has_compatible_shallow_copy_type "
     "_has_same_storage_numel _nnz result_type size stride",
     {.asks = true}},
    {"constant_pad_nd expand_copy flip repeat roll",
     {.moves = "self", .order = MovedOrder::kOther}},
    {"copy", {.moves = "src", .host_wait = HostWait::kCopy}},
    {"expand_as view_as", {.arguments = {{"other", kTemplate}}}},
    {"fill full full_like new_full new_ones new_zeros ones ones_like zero zeros zeros_like",
     {.fills = true}},
    {"_indices indices", {.part = SparsePart::kIndices}},
    {"is_pinned", {.not_on_cpu = kPins}},
    {"mkldnn_rnn_layer", {.part_written = 3}},
    {"_pin_memory pin_memory", {.moves = "self", .not_on_cpu = kPins}},
    {"record_stream", {.asks = true, .not_on_cpu = "the CPU has no streams"}},
    {"sort",
     {.arguments = {{"self", kData, "", 0, kReuse}},
      .moves = "self",
      .order = MovedOrder::kSorted}},
    {"tensor_split", {.arguments = {{"tensor_indices_or_sections", kData, "", 0, kNothing, true}}}},
    {"to _to_copy", {.moves = "self", .host_wait = HostWait::kCopy}},
    {"topk", {.arguments = {{"self", kData, "", 0, kReuse}}}},
    {"type_as", {.arguments = {{"other", kTemplate}}, .moves = "self"}},
    {"torchvision::nms _unique unique_dim_consecutive",
     {.host_wait = HostWait::kAlways, .counts = true}},
    {"_values values", {.part = SparsePart::kValues, .keeps_positive = true}},
};

}  // namespace

std::span<const OperatorRow> tensor_rows() {
  return kTensorRows;
}

}  // namespace understudy::et_schema::operator_rows
