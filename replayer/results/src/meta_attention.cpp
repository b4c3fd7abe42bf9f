// Scaled dot product attention, with the kernels' layouts of results. Tensors are [batch, heads,
// sequence, width]; operators named _flash… or _efficient… take [batch, sequence, heads, width].

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_permuted.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "meta_call.h"

namespace understudy::replayer {
namespace {

constexpr std::int64_t kSumsAligned = 32;  ///< alignment of the efficient kernel's log-sum-exps
constexpr std::int64_t kBiasAligned = 16;

std::int64_t aligned(std::int64_t size, std::int64_t to) {
  return (size + to - 1) / to * to;
}

/// Returns the efficient kernel's layout, [batch, sequence, heads, width].
at::Tensor sequence_first(const at::Tensor& model, at::IntArrayRef sizes) {
  return at::empty_permuted(sizes, {0, 2, 1, 3}, model.options());
}

/// Returns a tensor of `sizes` with its dimensions in the order of `model`.
at::Tensor in_order_of(const at::Tensor& model, at::IntArrayRef sizes) {
  if (model.sizes() == sizes) {
    return like(model);
  }
  std::vector<std::int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::int64_t dim) { return model.stride(dim); });
  return at::empty_permuted(sizes, order, model.options());
}

std::vector<std::int64_t> attended_sizes(const at::Tensor& query, const at::Tensor& value) {
  std::vector<std::int64_t> sizes = query.sizes().vec();
  TORCH_CHECK(sizes.size() >= 2, "attention of ", sizes.size(), " dimensions");
  sizes.back() = value.size(-1);
  return sizes;
}

/// Returns the result of flash kernels, the CPU's included: laid out as the query.
at::Tensor attended(const at::Tensor& query, const at::Tensor& value) {
  return in_order_of(query, attended_sizes(query, value));
}

/// The kernel depends on the device and on settings; the default ones are assumed.
MetaResults any_kernel(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  const at::Tensor value = call.tensor("value");
  const at::ScalarType dtype = query.scalar_type();
  const bool drops = call.number("dropout_p") > 0;
  const bool fuses =
      query.dim() == 4 &&
      (recorded_on_cpu() ? !drops && query.size(-1) == value.size(-1) : dtype != at::kDouble);
  if (!fuses) {
    return {sized(query, attended_sizes(query, value))};
  }
  const bool is_half = dtype == at::kHalf || dtype == at::kBFloat16;
  const bool flashes = recorded_on_cpu() || (is_half && !call.has("attn_mask"));
  return {flashes ? attended(query, value) : sequence_first(query, attended_sizes(query, value))};
}

at::Tensor number(const at::Tensor& model) {
  return sized(model, {}, at::kLong);
}

MetaResults flash(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  TORCH_CHECK(!call.flag("return_debug_mask"), "the debug mask's sizes are the kernel's own");
  return {attended(query, call.tensor("value")),
          sized(query, {query.size(0), query.size(1), query.size(2)}, at::kFloat),
          at::Tensor(),
          at::Tensor(),
          query.size(2),
          call.tensor("key").size(2),
          sized(query, {2}, at::kUInt64),
          sized(query, {}, at::kUInt64),
          sized(query, {0})};
}

MetaResults flash_on_cpu(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  return {
      attended(query, call.tensor("value")),
      sized(query, {query.size(0), query.size(2), query.size(1)}, accumulates(query.scalar_type()))
          .transpose(1, 2)};
}

MetaResults efficient(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  const std::int64_t sums =
      call.flag("compute_log_sumexp") ? aligned(query.size(2), kSumsAligned) : 0;
  return {sequence_first(query, attended_sizes(query, call.tensor("value"))),
          sized(query, {query.size(0), query.size(1), sums}, at::kFloat), number(query),
          number(query)};
}

MetaResults cudnn(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  const std::int64_t length = query.size(2);
  return {attended(query, call.tensor("value")),
          sized(query, {query.size(0), query.size(1), length, 1}, at::kFloat),
          at::Tensor(),
          at::Tensor(),
          length,
          call.tensor("key").size(2),
          number(query),
          number(query),
          at::Tensor()};
}

MetaResults sequence_first_gradients(const MetaCall& call) {
  MetaResults results;
  for (const std::string_view name : {"query", "key", "value"}) {
    const at::Tensor input = call.tensor(name);
    results.emplace_back(sequence_first(input, input.sizes()));
  }
  return results;
}

at::Tensor bias_gradient(const at::Tensor& bias) {
  std::vector<std::int64_t> sizes = bias.sizes().vec();
  const std::int64_t last = sizes.back();
  sizes.back() = aligned(last, kBiasAligned);
  return sized(bias, sizes).narrow(-1, 0, last);
}

MetaResults efficient_gradients(const MetaCall& call) {
  MetaResults results = sequence_first_gradients(call);
  const at::Tensor bias = call.tensor("attn_bias");
  results.emplace_back(bias.defined() && call.wants(3) ? bias_gradient(bias) : at::Tensor());
  return results;
}

MetaResults gradients_alike(const MetaCall& call) {
  return {like(call.tensor("query")), like(call.tensor("key")), like(call.tensor("value"))};
}

/// Sequences of different lengths are concatenated: [rows, heads, width].
MetaResults flash_kernel(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  TORCH_CHECK(!call.flag("return_debug_mask"), "the debug mask's sizes are the kernel's own");
  const std::int64_t heads = query.size(-2);
  const at::Tensor sums = call.has("cum_seq_q")
                              ? sized(query, {heads, query.size(0)}, at::kFloat)
                              : sized(query, {query.size(0), heads, query.size(1)}, at::kFloat);
  return {like(query), sums, sized(query, {2}, at::kUInt64), sized(query, {}, at::kUInt64),
          sized(query, {0})};
}

MetaResults efficient_kernel(const MetaCall& call) {
  const at::Tensor query = call.tensor("query");
  const at::Tensor value = call.tensor("value");
  const at::Tensor starts = call.tensor("cu_seqlens_q");
  const std::int64_t heads = query.size(-2);
  const std::int64_t batch = starts.defined() ? starts.size(0) - 1 : query.size(0);
  const std::int64_t longest = call.integer("max_seqlen_q", query.size(1));
  const std::int64_t sums = call.flag("compute_log_sumexp")
                                ? aligned(starts.defined() ? longest : query.size(1), kSumsAligned)
                                : 0;
  return {sized(query, {query.size(0), query.size(1), heads, value.size(-1)}),
          sized(query, {batch, heads, sums}, at::kFloat),
          number(query),
          number(query),
          longest,
          call.integer("max_seqlen_k", call.tensor("key").size(1))};
}

MetaResults kernel_gradients(const MetaCall& call) {
  MetaResults results = gradients_alike(call);
  if (call.results() > results.size()) {
    const at::Tensor bias = call.tensor("bias");
    results.emplace_back(bias.defined() ? bias_gradient(bias) : at::Tensor());
  }
  return results;
}

constexpr std::array<MetaRow, 11> kRows = {
    {{"_scaled_dot_product_flash_attention", flash},
     {"_scaled_dot_product_flash_attention_for_cpu", flash_on_cpu},
     {"_scaled_dot_product_efficient_attention", efficient},
     {"_scaled_dot_product_cudnn_attention", cudnn},
     {"scaled_dot_product_attention", any_kernel},
     {"_scaled_dot_product_flash_attention_for_cpu_backward", sequence_first_gradients},
     {"_scaled_dot_product_efficient_attention_backward", efficient_gradients},
     {"_scaled_dot_product_flash_attention_backward _scaled_dot_product_cudnn_attention_backward",
      gradients_alike},
     {"_flash_attention_forward", flash_kernel},
     {"_efficient_attention_forward", efficient_kernel},
     {"_flash_attention_backward _efficient_attention_backward", kernel_gradients}}};

}  // namespace

std::span<const MetaRow> attention_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
