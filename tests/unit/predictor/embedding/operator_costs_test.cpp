#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "predictor/embedding/costs.h"
#include "synthetic.h"

namespace understudy::predictor {
namespace {

/// Calls over tables as `calibrate` measures them, by a law: 3 us and 0.1 ns a byte that is looked
/// up, twice that backward, half of it to add the gradient to the table.
std::vector<MeasuredCall> measured() {
  std::vector<MeasuredCall> calls;
  for (int i = 0; i < 240; ++i) {
    const auto drawn = [i](double step, double low, double high) {
      return std::llround(std::exp(low + (high - low) * std::fmod(i * step, 1.0)));
    };
    const std::int64_t rows = drawn(0.618034, 5, 13);
    const std::int64_t dim = drawn(0.414214, 2, 5);
    const std::int64_t bags = drawn(0.732051, 2, 8);
    const std::int64_t lookups = bags * drawn(0.236068, 0, 4);
    const TensorLayout table{DType::kFloat32, {rows, dim}};
    const TensorLayout of_bags{DType::kInt64, {bags}};
    const TensorLayout of_lookups{DType::kInt64, {lookups}};
    TensorLayout gradient{DType::kFloat32, {rows, dim}, {0, 0}};
    gradient.stored = lookups * dim;
    const double bytes = 4.0 * static_cast<double>(lookups * dim);
    const auto add = [&](OperatorCall call, double ns) {
      MeasuredCall& row = calls.emplace_back();
      row.call = std::move(call);
      row.device = "cpu";
      row.threads = 1;
      row.host.median_ns = ns;
    };
    add({"aten::_embedding_bag",
         "",
         {table, of_lookups, of_bags},
         {{DType::kFloat32, {bags, dim}}, {DType::kInt64, {0}}, of_bags, of_bags}},
        3000 + 0.1 * bytes);
    add({"aten::_embedding_bag_backward",
         "",
         {{DType::kFloat32, {bags, dim}}, of_lookups, of_bags, of_lookups, of_bags, of_bags},
         {gradient}},
        3000 + 0.2 * bytes);
    add({"aten::index_add_", "", {table, of_lookups, {DType::kFloat32, {lookups, dim}}}, {table}},
        3000 + 0.05 * bytes);
  }
  return calls;
}

TEST(OperatorEmbeddingCosts, AreThoseOfTheOperatorsThatAStepCalls) {
  Card host = synthetic::card("cpu");
  const OperatorModels models = fit_operator_models(measured(), {host}, synthetic::quick_models());
  const DeviceKey key{"cpu", 1, TimedAs::kHost};
  ASSERT_TRUE(has_embedding_calls(models, key));
  EXPECT_FALSE(has_embedding_calls(models, {"other", 1, TimedAs::kHost}));
  const EmbeddingCosts costs = operator_embedding_costs(models, key);
  const EmbeddingTable table{.rows = 20000, .dim = 32, .pooling = 8};
  const double bytes = 500 * 8 * 32 * 4;
  const double forward = costs.load(table, 500, Direction::kForward);
  const double backward = costs.load(table, 500, Direction::kBackward);
  // Few quick trees: what matters is that both are of these calls.
  EXPECT_NEAR(std::log(forward / (3000 + 0.1 * bytes)), 0, 0.5);
  EXPECT_NEAR(std::log(backward / (6000 + 0.25 * bytes)), 0, 0.5);
  const Estimate time = costs.time(forward + backward, Direction::kForward);
  EXPECT_EQ(time.ns, forward + backward) << "a call a table, one after the other";
  EXPECT_LT(time.low_ns, time.ns);
  EXPECT_GT(time.high_ns, time.ns);
  EXPECT_EQ(time.model, "operators, a call a table");
  EXPECT_TRUE(time.extrapolated) << "what repeats among the lookups is not told";
  EXPECT_EQ(costs.time(0, Direction::kForward), Estimate());
  // Nobody looks it up: the call is made all the same.
  EXPECT_GT(costs.load({.rows = 20000, .dim = 32, .pooling = 0}, 500, Direction::kForward), 0);
}

TEST(OperatorEmbeddingCosts, OfOtherOperatorsAloneAreNotKnown) {
  const Card card = synthetic::card("A");
  const OperatorModels models =
      fit_operator_models(synthetic::elementwise(card, 50), {card}, synthetic::quick_models());
  EXPECT_FALSE(has_embedding_calls(models, {"A", 0, TimedAs::kTimedCall}));
}

}  // namespace
}  // namespace understudy::predictor
