#include "predictor/operators/features.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "et_schema/base/content_hash.h"
#include "kernel_load.h"

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

void add_sizes(const OperatorCall& call, const Work& work, Writer& out) {
  std::array<double, kSizes> sizes{};
  if (work.family == Family::kConvolution && call.inputs.size() > 1) {
    sizes = {size_at(call.inputs[0], 0), size_at(call.inputs[0], 1), size_at(call.inputs[1], 0),
             size_at(call.inputs[0], 2)};
  } else if (work.is_product) {
    sizes = {work.product.batch, work.product.m, work.product.n, work.product.k};
  } else {
    const auto elements = [](const std::vector<TensorLayout>& tensors) {
      double sum = 0;
      for (const TensorLayout& tensor : tensors) {
        sum += static_cast<double>(element_count(tensor));
      }
      return sum;
    };
    sizes = {work.rows, work.row_length, elements(call.outputs), elements(call.inputs)};
  }
  for (const double size : sizes) {
    out.add_ln(size);
  }
  for (const double size : sizes) {
    out.add(alignment(size));
  }
}

constexpr std::array<Tile, 5> kFeatureTiles = {
    {{128, 128}, {128, 64}, {64, 64}, {32, 128}, {32, 32}}};

/// Processors run tiles in waves. A partial wave takes as long as a full one.
void add_tiles(const Product& p, const Card& card, Writer& out) {
  for (const Tile& tile : kFeatureTiles) {
    const double across = std::ceil(p.m / tile.m);
    const double along = std::ceil(p.n / tile.n);
    const double waves = p.batch * across * along / card.processors;
    out.add_ln(waves);
    out.add(waves / std::max(std::ceil(waves), 1.0));
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

void add_convolution(const OperatorCall& call, const Card& card, Writer& out) {
  if (call.inputs.size() < 2) {
    return;
  }
  const TensorLayout& input = call.inputs[0];
  const TensorLayout& weight = call.inputs[1];
  const TensorLayout& result = call.outputs.empty() ? input : call.outputs[0];
  // Winograd's algorithm computes squares of four results per side.
  constexpr double kSquare = 4;
  const double rows = std::ceil(size_at(result, 2) / kSquare);
  const double columns = std::ceil(size_at(result, 3) / kSquare);
  const double squares = size_at(input, 0) * rows * columns;
  out.add_ln(squares);
  out.add_ln(squares * size_at(weight, 0) / card.processors);
  out.add(size_at(result, 2) * size_at(result, 3) / (rows * columns * kSquare * kSquare));
  out.add_ln(size_at(input, 0));
  out.add_ln(size_at(input, 1));
  out.add_ln(size_at(input, 2));
  out.add_ln(size_at(weight, 2) * size_at(weight, 3));
  out.add_ln(size_at(input, 2) / std::max(size_at(result, 2), 1.0));
  out.add_ln(size_at(input, 1) / std::max(size_at(weight, 1), 1.0));  // groups
  out.add(alignment(size_at(input, 1)));
  out.add(alignment(size_at(weight, 0)));
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

void add_card(const Card& card, Writer& out) {
  out.add_ln(card.flops);
  out.add_ln(card.bandwidth_bytes_per_s);
  out.add_ln(card.processors);
  out.add_ln(card.l2_bytes);
  out.add_ln(card.flops / card.bandwidth_bytes_per_s);
  out.add_ln(card.clock_hz);
  out.add_ln(card.flops / card.processors);
  out.add_ln(card.bandwidth_bytes_per_s / card.processors);
}

std::uint64_t shape_hash(const OperatorCall& call) {
  std::string text = full_name(call);
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    text += "|";
    for (const TensorLayout& tensor : *tensors) {
      text += to_string(tensor);
    }
  }
  return et_schema::content_hash(text);
}

constexpr const char* kSparseResult = " (sparse)";

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

}  // namespace

DType compute_dtype(const OperatorCall& call) {
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    for (const TensorLayout& tensor : *tensors) {
      if (et_schema::is_floating(tensor.dtype)) {
        return tensor.dtype;
      }
    }
  }
  return DType::kFloat32;
}

Point point_of(const OperatorCall& call, const Work& work, const Card& card) {
  constexpr std::size_t kProductAt = kFirstSize + 2 * kSizes;
  constexpr std::size_t kConvolutionAt = kProductAt + 6 + 3 * kFeatureTiles.size();
  constexpr std::size_t kRowsAt = kConvolutionAt + 11;
  constexpr std::size_t kLayoutAt = kRowsAt + 4;
  static_assert(kLayoutAt == kElementBytesFeature && kLayoutAt + 5 <= kOperatorFeature);
  static_assert(kLayoutAt + 5 <= kKernelsFeature && kKernelsFeature + 2 <= kOperatorFeature);
  static_assert(kFirstCardFeature + 8 == kFeatures && kBandwidthFeature + 1 == kFeatures);
  const DType dtype = compute_dtype(call);
  const double bytes = bytes_of(work);
  Point point;
  point.compute_ns = work.flops / peak_flops(card, dtype) * kNsPerS;
  point.memory_ns = bytes / card.bandwidth_bytes_per_s * kNsPerS;
  point.least_compute_ns =
      work.flops / most_flops(card, dtype) * fewest_products(call, work) * kNsPerS;
  point.kernels =
      kernel_load(call, work, card, peak_flops(card, dtype), {point.compute_ns, point.memory_ns});
  point.shape = shape_hash(call);
  point.op = full_name(call) + (has_sparse_result(call) ? kSparseResult : "");
  Writer out(point.x);
  out.add_ln(work.flops / std::max(bytes, 1.0));
  out.add_ln(point.compute_ns);
  out.add_ln(point.memory_ns);
  out.add_ln(point.compute_ns / std::max(point.memory_ns, 1e-3));
  out.add_ln(bound_ns(point));
  out.add_ln(bytes / card.l2_bytes);
  add_sizes(call, work, out);
  if (work.is_product) {
    add_product(work, card, static_cast<double>(et_schema::item_size(dtype)), out);
  }
  if (work.family == Family::kConvolution) {
    out.at(kConvolutionAt);
    add_convolution(call, card, out);
  }
  out.at(kRowsAt);
  add_rows(work, card, out);
  add_layout(call, out);
  // For other operators these equal earlier features.
  if (work.is_product) {
    out.at(kKernelsFeature);
    out.add_ln(point.kernels.compute_ns);
    out.add_ln(point.kernels.memory_ns);
  }
  out.at(kFirstCardFeature);
  add_card(card, out);
  return point;
}

}  // namespace understudy::predictor
