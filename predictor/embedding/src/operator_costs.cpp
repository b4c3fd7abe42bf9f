#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "predictor/embedding/costs.h"
#include "predictor/embedding/fitted.h"

namespace understudy::predictor {
namespace {

constexpr const char* kForward = "aten::_embedding_bag";
constexpr const char* kGradient = "aten::_embedding_bag_backward";
constexpr const char* kSparseGradient = "aten::_embedding_bag_backward (sparse)";
constexpr const char* kUpdate = "aten::index_add_";

/// Returns the calls, with at least one bag and lookup, which the models require. A sparse gradient
/// is added to its table by index_add_, as in the simulator.
std::vector<OperatorCall> calls_of(const EmbeddingTable& table, double batch, Direction direction) {
  const std::int64_t bag_count = std::max<std::int64_t>(std::llround(batch), 1);
  const std::int64_t lookup_count = std::max<std::int64_t>(std::llround(batch * table.pooling), 1);
  const DType dtype = type_of(table.item_bytes);
  const TensorLayout whole{dtype, {table.rows, table.dim}};
  const TensorLayout bags{DType::kInt64, {bag_count}};
  const TensorLayout lookups{DType::kInt64, {lookup_count}};
  const TensorLayout sums{dtype, {bag_count, table.dim}};
  if (direction == Direction::kForward) {
    return {{kForward, "", {whole, lookups, bags}, {sums, {DType::kInt64, {0}}, bags, bags}}};
  }
  TensorLayout gradient{dtype, {table.rows, table.dim}, {0, 0}};
  gradient.stored = lookup_count * table.dim;
  return {{kGradient, "", {sums, lookups, bags, lookups, bags, bags}, {gradient}},
          {kUpdate, "", {whole, lookups, {dtype, {lookup_count, table.dim}}}, {whole}}};
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

EmbeddingCosts assumed_embedding_costs(const Card& card) {
  const auto load = [cache_bytes = card.l2_bytes](const EmbeddingTable& table, double batch,
                                                  Direction direction) {
    // The update reads each row and writes it.
    const double passes = direction == Direction::kForward ? 1 : 2;
    const double sums = batch * static_cast<double>(table.dim * table.item_bytes);
    return passes * terms_of(table, batch, cache_bytes).back() + sums;
  };
  const auto time = [bandwidth = card.bandwidth_bytes_per_s](double load, Direction) {
    constexpr double kNsPerS = 1e9;
    return load > 0 ? guessed(load / bandwidth * kNsPerS,
                              "rows at the bandwidth of the card's data sheet")
                    : Estimate();
  };
  return {load, time};
}

}  // namespace understudy::predictor
