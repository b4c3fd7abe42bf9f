#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "predictor/embedding/costs.h"

namespace understudy::predictor {
namespace {

constexpr const char* kForward = "aten::_embedding_bag";
constexpr const char* kGradient = "aten::_embedding_bag_backward";
constexpr const char* kSparseGradient = "aten::_embedding_bag_backward (sparse)";
constexpr const char* kUpdate = "aten::index_add_";

/// Returns a floating-point type of that size, because integers count as indices.
DType type_of(std::int64_t item_bytes) {
  switch (item_bytes) {
    case 1:
      return DType::kFloat8E5M2;
    case 2:
      return DType::kFloat16;
    case 8:
      return DType::kFloat64;
    default:
      return DType::kFloat32;
  }
}

/// Sizes of a call, with at least one lookup, which the models require.
struct Sizes {
  std::int64_t bags = 1;
  std::int64_t lookups = 1;
};

Sizes sizes_of(const EmbeddingTable& table, double batch) {
  return {std::max<std::int64_t>(std::llround(batch), 1),
          std::max<std::int64_t>(std::llround(batch * table.pooling), 1)};
}

OperatorCall forward_call(const EmbeddingTable& table, const Sizes& sizes) {
  const DType dtype = type_of(table.item_bytes);
  const TensorLayout bags{DType::kInt64, {sizes.bags}};
  return {kForward,
          "",
          {{dtype, {table.rows, table.dim}}, {DType::kInt64, {sizes.lookups}}, bags},
          {{dtype, {sizes.bags, table.dim}}, {DType::kInt64, {0}}, bags, bags}};
}

OperatorCall gradient_call(const EmbeddingTable& table, const Sizes& sizes) {
  const DType dtype = type_of(table.item_bytes);
  const TensorLayout bags{DType::kInt64, {sizes.bags}};
  const TensorLayout lookups{DType::kInt64, {sizes.lookups}};
  TensorLayout gradient{dtype, {table.rows, table.dim}, {0, 0}};
  gradient.stored = sizes.lookups * table.dim;
  return {kGradient,
          "",
          {{dtype, {sizes.bags, table.dim}}, lookups, bags, lookups, bags, bags},
          {gradient}};
}

/// Returns the call that the simulator uses for the sum of a table and a sparse gradient.
OperatorCall update_call(const EmbeddingTable& table, const Sizes& sizes) {
  const DType dtype = type_of(table.item_bytes);
  const TensorLayout whole{dtype, {table.rows, table.dim}};
  return {kUpdate,
          "",
          {whole, {DType::kInt64, {sizes.lookups}}, {dtype, {sizes.lookups, table.dim}}},
          {whole}};
}

std::vector<OperatorCall> calls_of(const EmbeddingTable& table, double batch, Direction direction) {
  const Sizes sizes = sizes_of(table, batch);
  if (direction == Direction::kForward) {
    return {forward_call(table, sizes)};
  }
  return {gradient_call(table, sizes), update_call(table, sizes)};
}

}  // namespace

bool has_embedding_calls(const OperatorModels& models, const DeviceKey& device) {
  const auto found = models.devices().find(device);
  if (found == models.devices().end()) {
    return false;
  }
  const auto has = [&](const char* name) {
    const auto family = found->second.by_family.find("embedding");
    return found->second.by_operator.contains(name) ||
           (family != found->second.by_family.end() &&
            std::ranges::binary_search(family->second.operators, name));
  };
  return has(kForward) && (has(kSparseGradient) || has(kGradient));
}

EmbeddingCosts operator_embedding_costs(const OperatorModels& models, DeviceKey device) {
  const auto predict = [&models, device = std::move(device)](const EmbeddingTable& table,
                                                             double batch, Direction direction) {
    Estimate sum;
    for (const OperatorCall& call : calls_of(table, batch, direction)) {
      add_estimate(models.predict(call, device), sum);
    }
    return sum;
  };
  // One table's width applies to sums, because the errors of one step's tables are correlated.
  const auto width_of = [&predict](Direction direction) {
    constexpr double kBatch = 2048;
    const Estimate usual = predict({.rows = 100'000, .dim = 64, .pooling = 10}, kBatch, direction);
    return std::log(usual.high_ns / usual.ns);
  };
  const double forward = width_of(Direction::kForward);
  const double backward = width_of(Direction::kBackward);
  return {[predict](const EmbeddingTable& table, double batch, Direction direction) {
            return predict(table, batch, direction).ns;
          },
          [forward, backward](double load, Direction direction) -> Estimate {
            if (!(load > 0)) {
              return {};
            }
            const double width = direction == Direction::kForward ? forward : backward;
            Estimate time = within(load, width, "operators, a call a table");
            time.extrapolated = true;
            return time;
          }};
}

}  // namespace understudy::predictor
