#include "predictor/embedding/operator_costs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace understudy::predictor {
namespace {

using et_schema::DType;

constexpr const char* kForward = "aten::_embedding_bag";
constexpr const char* kGradient = "aten::_embedding_bag_backward";
constexpr const char* kSparseGradient = "aten::_embedding_bag_backward (sparse)";
constexpr const char* kUpdate = "aten::index_add_";

/// Only the size of an element matters; no integer, which would count as indices.
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

/// A call's sizes: at least one lookup, which no model is without.
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

/// As the simulator takes the sum of a table and a sparse gradient.
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

bool OperatorEmbeddingCosts::are_known(const OperatorModels& models, const DeviceKey& device) {
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

OperatorEmbeddingCosts::OperatorEmbeddingCosts(const OperatorModels& models, DeviceKey device)
    : models_(models), device_(std::move(device)) {
  // Of a usual table: tables of one step err together.
  const EmbeddingTable usual{.rows = 100'000, .dim = 64, .pooling = 10};
  constexpr double kBatch = 2048;
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    double ns = 0;
    double high_ns = 0;
    for (const OperatorCall& call : calls_of(usual, kBatch, direction)) {
      const Prediction prediction = models_.predict(call, device_);
      ns += prediction.ns;
      high_ns += prediction.high_ns;
    }
    width_[direction == Direction::kForward ? 0 : 1] = std::log(high_ns / ns);
  }
}

double OperatorEmbeddingCosts::load(const EmbeddingTable& table, double batch,
                                    Direction direction) const {
  double ns = 0;
  for (const OperatorCall& call : calls_of(table, batch, direction)) {
    ns += models_.predict(call, device_).ns;
  }
  return ns;
}

Estimate OperatorEmbeddingCosts::time(double load, Direction direction) const {
  if (!(load > 0)) {
    return {};
  }
  const double width = width_[direction == Direction::kForward ? 0 : 1];
  return {.ns = load,
          .low_ns = load * std::exp(-width),
          .high_ns = load * std::exp(width),
          .model = "operators, a call a table",
          .extrapolated = true};
}

}  // namespace understudy::predictor
