#include "predictor/operators/features.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "et_schema/base/content_hash.h"
#include "kernel_load.h"
#include "predictor/work/sizes.h"

namespace understudy::predictor {
namespace {

/// Writes features in their order.
class Writer {
 public:
  explicit Writer(Features& x) : x_(x) {}
  void at(std::size_t index) { index_ = index; }
  void add(double value) { x_[index_++] = static_cast<float>(value); }
  /// Adds the logarithm of a size or a time, which may be 0.
  void add_ln(double value) {
    constexpr double kLeast = 1e-6;
    add(std::log(std::max(value, kLeast)));
  }

 private:
  Features& x_;
  std::size_t index_ = 0;
};

/// Returns the exponent of 2 in `size`, at most 7.
double alignment(double size) {
  constexpr double kMost = 7;
  const auto whole = static_cast<std::uint64_t>(std::clamp(size, 1.0, 9e15));
  return std::min(static_cast<double>(std::countr_zero(whole)), kMost);
}

double next_power_of_two(double size) {
  return std::exp2(std::ceil(std::log2(std::max(size, 1.0))));
}

std::array<double, kSizes> sizes_of(const OperatorCall& call, const Work& work) {
  if (work.attention) {
    const Attention& of = *work.attention;
    return {of.batch_heads, of.queries, of.keys, of.width};
  }
  if (work.experts) {
    return {work.experts->tokens, work.experts->experts, work.experts->hidden, work.experts->inner};
  }
  if (work.family == Family::kConvolution && call.inputs.size() > 1) {
    return {size_at(call.inputs[0], 0), size_at(call.inputs[0], 1), size_at(call.inputs[1], 0),
            size_at(call.inputs[0], 2)};
  }
  if (work.is_product) {
    return {work.product.batch, work.product.m, work.product.n, work.product.k};
  }
  return {work.rows, work.row_length, sum_of(call.outputs, count), sum_of(call.inputs, count)};
}

void add_sizes(const std::array<double, kSizes>& sizes, Writer& out) {
  for (const double size : sizes) {
    out.add_ln(size);
  }
  for (const double size : sizes) {
    out.add(alignment(size));
  }
}

constexpr std::array<Tile, 7> kFeatureTiles = {
    {{128, 256}, {128, 128}, {128, 64}, {64, 64}, {64, 128}, {32, 32}, {16, 128}}};

/// Processors run blocks in waves. A partial wave takes as long as a full one.
void add_waves(double blocks, const Card& card, Writer& out) {
  const double waves = blocks / card.processors;
  out.add_ln(waves);
  out.add(waves / std::max(std::ceil(waves), 1.0));
}

void add_tiles(const Product& p, const Card& card, Writer& out) {
  for (const Tile& tile : kFeatureTiles) {
    const double across = std::ceil(p.m / tile.m);
    const double along = std::ceil(p.n / tile.n);
    add_waves(p.batch * across * along, card, out);
    out.add(p.m * p.n / std::max(across * tile.m * along * tile.n, 1.0));
  }
}

void add_product(const Work& work, const Card& card, double item_bytes, Writer& out) {
  const Product& p = work.product;
  out.add_ln(p.m / p.n);
  out.add_ln(p.k / std::sqrt(p.m * p.n));
  out.add_ln(std::min(p.m, p.n));
  out.add_ln(p.batch * p.m * p.k * item_bytes / card.l2_bytes);
  out.add_ln(p.batch * p.n * p.k * item_bytes / card.l2_bytes);
  out.add_ln(p.batch * p.m * p.n * item_bytes / card.l2_bytes);
  add_tiles(p, card, out);
}

void add_convolution(const OperatorCall& call, Writer& out) {
  if (call.inputs.size() < 2) {
    return;
  }
  const TensorLayout& input = call.inputs[0];
  const TensorLayout& weight = call.inputs[1];
  const TensorLayout& result = call.outputs.empty() ? input : call.outputs[0];
  out.add_ln(size_at(input, 0));
  out.add_ln(size_at(input, 1));
  out.add_ln(size_at(input, 2));
  out.add_ln(size_at(weight, 2) * size_at(weight, 3));
  out.add_ln(size_at(input, 2) / std::max(size_at(result, 2), 1.0));
  out.add_ln(size_at(input, 1) / std::max(size_at(weight, 1), 1.0));  // groups
  out.add(alignment(size_at(input, 1)));
  out.add(alignment(size_at(weight, 0)));
}

void add_attention(const Attention& of, const Work& work, const Card& card, Writer& out) {
  constexpr double kBlock = 128;      // queries of a block
  constexpr double kSplitKeys = 256;  // keys of a block, if one query's keys are divided
  const double key_heads = of.batch_heads / of.heads_of_key;
  const double rows = of.queries > 1 ? of.queries * of.heads_of_key : of.keys;
  out.add_ln(of.sequences);
  out.add_ln(of.batch_heads / of.sequences);
  out.add_ln(key_heads);
  out.add_ln(of.heads_of_key);
  out.add(of.key_item_bytes);
  out.add_ln(2 * key_heads * of.keys * of.width * of.key_item_bytes / card.l2_bytes);
  add_waves(of.batch_heads * std::ceil(of.queries / kBlock), card, out);
  add_waves(key_heads, card, out);
  add_waves(key_heads * std::ceil(rows / (of.queries > 1 ? kBlock : kSplitKeys)), card, out);
  out.add_ln(work.flops);
}

void add_experts(const Experts& of, const Work& work, const Card& card, Writer& out) {
  constexpr double kRows = 64, kColumns = 128;  // of a block
  const double routed = of.tokens * of.chosen;
  const double each = std::max(routed / of.hit, 1.0);
  out.add_ln(of.chosen);
  out.add_ln(routed);
  out.add_ln(of.hit);
  out.add_ln(each);
  out.add_ln(of.weight_bytes);
  out.add_ln(of.weight_bytes / card.l2_bytes);
  out.add_ln(of.weight_bytes / (of.hit * of.hidden * of.inner));  // by the weights' type
  out.add_ln((bytes_of(work) - of.weight_bytes) / card.l2_bytes);
  out.add_ln(of.hidden / of.inner);
  out.add_ln(of.experts * of.hidden * of.inner);
  add_waves(of.hit * std::ceil(each / kRows) * std::ceil(2 * of.inner / kColumns), card, out);
}

void add_rows(const Work& work, const Card& card, Writer& out) {
  constexpr double kOneBlock = 1024;  // maximum threads of a block
  out.add_ln(work.rows / card.processors);
  out.add(work.row_length / next_power_of_two(work.row_length));
  out.add(work.row_length > kOneBlock ? 1 : 0);
  out.add_ln(work.rows * work.row_length / card.processors);
}

void add_layout(const OperatorCall& call, Writer& out) {
  const TensorLayout* const first = !call.inputs.empty()    ? &call.inputs[0]
                                    : !call.outputs.empty() ? &call.outputs[0]
                                                            : nullptr;
  double strided = 0;
  double bytes = 0;
  for (const TensorLayout& input : call.inputs) {
    strided += is_contiguous(input) ? 0 : stored_bytes(input);
    bytes += stored_bytes(input);
  }
  out.add(first == nullptr ? 0 : static_cast<double>(et_schema::item_size(first->dtype)));
  out.add(first != nullptr && et_schema::is_floating(first->dtype) ? 1 : 0);
  out.add(static_cast<double>(call.inputs.size()));
  out.add(bytes > 0 ? strided / bytes : 0);
  out.add(static_cast<double>(call.outputs.size()));
}

/// Returns the minimum share of products that a convolution needs. Winograd's algorithm computes a
/// square of results with 36 products instead of 144; Fourier's needs as few for larger filters.
double fewest_products(const OperatorCall& call, const Work& work) {
  constexpr double kWinograd = 0.25;
  const std::size_t weight_at = has_part(call, "backward") ? 2 : 1;
  if (work.family != Family::kConvolution || call.inputs.size() <= weight_at) {
    return 1;
  }
  const std::vector<std::int64_t>& weight = call.inputs[weight_at].sizes;
  const bool has_filter =
      weight.size() > 2 &&
      std::any_of(weight.begin() + 2, weight.end(), [](std::int64_t size) { return size > 1; });
  return has_filter ? kWinograd : 1;
}

double least_of(const OperatorCall& call, const Work& work, const Card& card, DType dtype,
                double memory_ns) {
  constexpr double kCacheFactor = 8;  // maximum speed of a cache relative to memory
  // Experts of other ranks and unequal numbers of tokens leave fewer weights and products.
  if (work.experts) {
    return 0;
  }
  const double compute_ns =
      work.flops / most_flops(card, dtype) * fewest_products(call, work) * kNsPerS;
  return std::max(compute_ns,
                  bytes_of(work) > card.l2_bytes ? memory_ns : memory_ns / kCacheFactor);
}

}  // namespace

std::uint64_t shape_hash(const OperatorCall& call) {
  std::string text = full_name(call) + (call.is_full ? "|full" : "");
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    text += "|";
    for (const TensorLayout& tensor : *tensors) {
      text += to_string(tensor);
    }
  }
  return et_schema::content_hash(text);
}

Point point_of(const OperatorCall& call, const Work& work, const Card& card) {
  constexpr std::size_t kFamilyAt = kFirstSize + 2 * kSizes;
  constexpr std::size_t kLayoutAt = kFamilyAt + 6 + 3 * kFeatureTiles.size() + 8;
  static_assert(kLayoutAt + 7 == kOperatorFeature);
  const DType dtype = compute_dtype(call);
  const double bytes = bytes_of(work);
  Point point;
  point.compute_ns = work.flops / peak_flops(card, dtype) * kNsPerS;
  point.memory_ns = bytes / card.bandwidth_bytes_per_s * kNsPerS;
  point.least_ns = least_of(call, work, card, dtype, point.memory_ns);
  point.kernels =
      kernel_load(work, card, peak_flops(card, dtype), {point.compute_ns, point.memory_ns});
  point.op = full_name(call) + (has_sparse_result(call) ? " (sparse)" : "");
  Writer out(point.x);
  out.add_ln(work.flops / std::max(bytes, 1.0));
  out.add_ln(point.compute_ns);
  out.add_ln(point.memory_ns);
  out.add_ln(point.compute_ns / std::max(point.memory_ns, 1e-3));
  out.add_ln(bound_ns(point));
  out.add_ln(bytes / card.l2_bytes);
  add_sizes(sizes_of(call, work), out);
  if (work.attention) {
    add_attention(*work.attention, work, card, out);
  } else if (work.experts) {
    add_experts(*work.experts, work, card, out);
  } else if (work.is_product) {
    add_product(work, card, static_cast<double>(et_schema::item_size(dtype)), out);
    if (work.family == Family::kConvolution) {
      add_convolution(call, out);
    }
  } else {
    add_rows(work, card, out);
  }
  out.at(kLayoutAt);
  add_layout(call, out);
  out.add_ln(point.kernels.compute_ns);
  out.add_ln(point.kernels.compute_ns / std::max(point.compute_ns, 1e-3));
  return point;
}

}  // namespace understudy::predictor
