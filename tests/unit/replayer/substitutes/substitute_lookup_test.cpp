// fbgemm's lookups, their backward with the update of the tables, and what they reach.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "replayer/substitutes/substitutes.h"
#include "substitute_call.h"

namespace understudy::replayer {
namespace {

const std::string kAdagrad =
    "fbgemm::split_embedding_codegen_lookup_adagrad_function(Tensor placeholder_autograd_tensor, "
    "Tensor dev_weights, Tensor uvm_weights, Tensor lxu_cache_weights, Tensor weights_placements, "
    "Tensor weights_offsets, Tensor D_offsets, int total_D, int max_D, Tensor hash_size_cumsum, "
    "int total_hash_size_bits, Tensor indices, Tensor offsets, int pooling_mode, Tensor? "
    "indice_weights, Tensor? feature_requires_grad, Tensor lxu_cache_locations, bool "
    "gradient_clipping, float max_gradient, bool stochastic_rounding, Tensor momentum1_dev, Tensor "
    "momentum1_uvm, Tensor momentum1_placements, Tensor momentum1_offsets, float eps=0., float "
    "learning_rate=0., int output_dtype=0) -> Tensor";

const std::string kDense =
    "fbgemm::dense_embedding_codegen_lookup_function(Tensor dev_weights, Tensor weights_offsets, "
    "Tensor D_offsets, int total_D, int max_D, Tensor hash_size_cumsum, int total_hash_size_bits, "
    "Tensor indices, Tensor offsets, int pooling_mode, Tensor? indice_weights, Tensor? "
    "feature_requires_grad, int output_dtype=0) -> Tensor";

const std::string kAdagradLabel = "torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>";
const std::string kDenseLabel = "torch::autograd::CppNode<SplitLookupFunction_Dense_Op>";

/// Two tables of 5 rows × 4 and 3 rows × 2, three bags each.
struct Tables {
  at::Tensor weights = at::arange(26, at::kFloat) * 0.1F + 0.5F;
  at::Tensor starts = at::tensor({0, 20}, at::kLong);
  at::Tensor columns = at::tensor({0, 4, 6}, at::kInt);
  at::Tensor rows = at::tensor({0, 5, 8}, at::kLong);
  at::Tensor indices = at::tensor({1, 4, 4, 0, 2, 2, 0, 1}, at::kLong);
  at::Tensor offsets = at::tensor({0, 3, 3, 4, 6, 7, 8}, at::kLong);
  at::Tensor state = at::full({26}, 0.25F);
  at::Tensor empty = at::empty({0});

  [[nodiscard]] at::Tensor table(int index) const {
    return index == 0 ? weights.narrow(0, 0, 20).view({5, 4})
                      : weights.narrow(0, 20, 6).view({3, 2});
  }

  /// What the lookup gives, by PyTorch's own embedding_bag.
  [[nodiscard]] at::Tensor expected(std::int64_t mode, const at::Tensor& first,
                                    const at::Tensor& second) const {
    const auto bags = [&](const at::Tensor& table, std::int64_t from, std::int64_t to,
                          std::int64_t feature) {
      return std::get<0>(at::embedding_bag(table, indices.slice(0, from, to),
                                           offsets.narrow(0, feature * 3, 4) - from, false, mode,
                                           false, std::nullopt, true));
    };
    return at::cat({bags(first, 0, 4, 0), bags(second, 4, 8, 1)}, 1);
  }

  [[nodiscard]] torch::jit::Stack adagrad(std::int64_t pooling = 0) const {
    return {empty,
            weights,
            empty,
            empty,
            at::zeros({2}, at::kInt),
            starts,
            columns,
            6,
            4,
            rows,
            4,
            indices,
            offsets,
            pooling,
            c10::IValue(),
            c10::IValue(),
            empty,
            false,
            1.0,
            true,
            state,
            empty,
            at::zeros({2}, at::kInt),
            starts,
            1e-6,
            0.1,
            0};
  }

  [[nodiscard]] torch::jit::Stack dense(std::int64_t pooling = 0) const {
    return {weights, starts,        columns,       6, 4, rows, 4, indices, offsets,
            pooling, c10::IValue(), c10::IValue(), 0};
  }
};

constexpr std::int64_t kSum = 0;
constexpr std::int64_t kMean = 1;

TEST(SubstituteLookup, PoolsLikeEmbeddingBag) {
  const Tables tables;
  for (const std::int64_t mode : {kSum, kMean}) {
    const at::Tensor expected = tables.expected(mode, tables.table(0), tables.table(1));
    expect_close(call_substitute(kAdagrad, tables.adagrad(mode)).at(0), expected);
    expect_close(call_substitute(kDense, tables.dense(mode)).at(0), expected);
  }
}

/// As TorchRec's steps of torch.compile's form call them on a CPU.
TEST(SubstituteLookup, TheOperatorsOfACpuLookUpAndUpdateAsTheFunctionDoes) {
  const std::string forward =
      "fbgemm::split_embedding_codegen_forward_cpu(Tensor weights, Tensor weights_offsets, Tensor "
      "D_offsets, int total_D, Tensor hash_size_cumsum, Tensor indices, Tensor offsets, int "
      "pooling_mode, Tensor indice_weights, int output_dtype) -> Tensor";
  const std::string backward =
      "fbgemm::split_embedding_backward_codegen_adagrad_cpu(Tensor grad_output, Tensor(a!) "
      "host_weights, Tensor weights_placements, Tensor weights_offsets, Tensor D_offsets, int "
      "max_D, "
      "Tensor hash_size_cumsum, int total_hash_size_bits, Tensor indices, Tensor offsets, int "
      "pooling_mode, Tensor indice_weights, bool stochastic_rounding, Tensor(b!) momentum1_host, "
      "Tensor momentum1_placements, Tensor momentum1_offsets, Tensor learning_rate_tensor, float "
      "eps=0., int output_dtype=0) -> ()";
  const Tables tables;
  const c10::IValue none;
  const at::Tensor expected = tables.expected(kSum, tables.table(0), tables.table(1));
  expect_close(call_substitute(forward, {tables.weights, tables.starts, tables.columns, 6,
                                         tables.rows, tables.indices, tables.offsets, 0, none, 0})
                   .at(0),
               expected);
  const at::Tensor placements = at::zeros({2}, at::kInt);
  const at::Tensor before = tables.weights.clone();
  static_cast<void>(call_substitute(
      backward, {at::ones({3, 6}), tables.weights, placements, tables.starts, tables.columns, 4,
                 tables.rows, 4, tables.indices, tables.offsets, 0, none, false, tables.state,
                 placements, tables.starts, at::tensor(0.1F), 1e-6, 0}));
  // Row 4 of the first table is reached by two indices: a gradient of 2, a state of 0.25 + 4.
  const at::Tensor step = (before - tables.weights).narrow(0, 16, 4);
  EXPECT_TRUE(at::allclose(step, at::full({4}, 0.1F * 2 / std::sqrt(4.25F)), 1e-4, 1e-5)) << step;
}

TEST(SubstituteLookup, PoolsWithWeightsAndOtherTypes) {
  const Tables tables;
  torch::jit::Stack arguments = tables.dense();
  constexpr std::size_t kIndiceWeights = 10;
  constexpr std::size_t kOutputType = 12;
  arguments[kIndiceWeights] = at::full({8}, 2.0F);
  arguments[kOutputType] = 1;
  const at::Tensor expected = 2 * tables.expected(kSum, tables.table(0), tables.table(1));
  expect_close(call_substitute(kDense, arguments).at(0), expected.to(at::kHalf), 1e-3);
}

TEST(SubstituteLookup, WithoutPoolingGivesARowForEachIndex) {
  Tables tables;
  tables.weights = at::arange(32, at::kFloat);
  tables.starts = at::tensor({0, 20}, at::kLong);
  tables.columns = at::tensor({0, 4, 8}, at::kInt);
  torch::jit::Stack arguments = tables.dense(2);
  arguments[3] = 8;
  const at::Tensor output = call_substitute(kDense, arguments).at(0).toTensor();
  ASSERT_EQ(output.sizes(), at::IntArrayRef({8, 4}));
  EXPECT_TRUE(at::equal(output[1], tables.weights.narrow(0, 16, 4)));
  EXPECT_TRUE(at::equal(output[7], tables.weights.narrow(0, 24, 4)));
}

torch::jit::Stack run_native(const std::string& label, const std::string& schema,
                             torch::jit::Stack stack, std::size_t allocated = 0) {
  const std::optional<Substitute> substitute = find_native_substitute(
      label, 1, operator_name_of(schema), argument_names_of(schema), allocated);
  EXPECT_TRUE(substitute.has_value()) << label;
  if (substitute) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    substitute->call(stack);
  }
  return stack;
}

std::vector<at::Tensor> expected_gradients(const Tables& tables, const at::Tensor& grad_output,
                                           std::int64_t mode) {
  return autograd_gradients(
      [&](const std::vector<at::Tensor>& inputs) {
        return tables.expected(mode, inputs[0], inputs[1]);
      },
      {tables.table(0), tables.table(1)}, grad_output);
}

TEST(SubstituteLookup, AdagradUpdatesTheRowsReachedAndNoOthers) {
  for (const std::int64_t mode : {kSum, kMean}) {
    const Tables tables;
    const at::Tensor grad_output = at::arange(18, at::kFloat).view({3, 6}) * 0.1F - 0.7F;
    const std::vector<at::Tensor> gradients = expected_gradients(tables, grad_output, mode);
    const at::Tensor gradient = at::cat({gradients[0].flatten(), gradients[1].flatten()});
    const at::Tensor state = tables.state + gradient.square();
    const at::Tensor weights = tables.weights - 0.1 * gradient / (state.sqrt() + 1e-6);
    const at::Tensor before = tables.weights.clone();

    torch::jit::Stack stack = tables.adagrad(mode);
    stack.insert(stack.begin(), grad_output);
    EXPECT_TRUE(run_native(kAdagradLabel, kAdagrad, stack).empty());
    expect_close(tables.state, state);
    expect_close(tables.weights, weights);
    const at::Tensor untouched = tables.table(0).index_select(0, at::tensor({2, 3}, at::kLong));
    EXPECT_TRUE(at::equal(untouched, before.narrow(0, 8, 8).view({2, 4})));
  }
}

TEST(SubstituteLookup, ZeroGradientsAndStatesStayFinite) {
  Tables tables;
  tables.state.zero_();
  torch::jit::Stack stack = tables.adagrad();
  stack[24] = 0.0;  // epsilon, as recorded with six decimals
  stack.insert(stack.begin(), at::zeros({3, 6}));
  static_cast<void>(run_native(kAdagradLabel, kAdagrad, stack));
  EXPECT_TRUE(tables.weights.isfinite().all().item<bool>());
}

TEST(SubstituteLookup, SharedTablesAreUpdatedOnce) {
  // Both features look into one table: row 1 is reached by both, and its gradients are summed
  // first.
  const at::Tensor weights = at::zeros({8});
  const at::Tensor state = at::zeros({8});
  const at::Tensor starts = at::zeros({2}, at::kLong);
  const at::Tensor empty = at::empty({0});
  const at::Tensor none = at::zeros({2}, at::kInt);
  torch::jit::Stack stack{at::full({1, 4}, 3.0F),
                          empty,
                          weights,
                          empty,
                          empty,
                          none,
                          starts,
                          at::tensor({0, 2, 4}, at::kInt),
                          4,
                          2,
                          starts,
                          2,
                          at::tensor({1, 1}, at::kLong),
                          at::tensor({0, 1, 2}, at::kLong),
                          0,
                          c10::IValue(),
                          c10::IValue(),
                          empty,
                          true,
                          2.0,
                          true,
                          state,
                          empty,
                          none,
                          starts,
                          0.0,
                          1.0,
                          0};
  static_cast<void>(run_native(kAdagradLabel, kAdagrad, stack));
  // Clipped to 2 each, 4 in all: state 16, step 4 / sqrt(16).
  EXPECT_TRUE(at::equal(state, at::tensor({0, 0, 16, 16, 0, 0, 0, 0}, at::kFloat)));
  EXPECT_TRUE(at::allclose(weights, at::tensor({0, 0, -1, -1, 0, 0, 0, 0}, at::kFloat)));
}

TEST(SubstituteLookup, OtherOptimizers) {
  const auto update = [](const std::string& optimizer, const at::Tensor& weights,
                         const at::Tensor& first, const at::Tensor& second,
                         const at::Tensor& grad_output) {
    const std::string schema =
        "fbgemm::split_embedding_codegen_lookup_" + optimizer +
        "_function(Tensor dev_weights, Tensor weights_offsets, Tensor D_offsets, int total_D, "
        "Tensor indices, Tensor offsets, int pooling_mode, Tensor momentum1_dev, Tensor "
        "momentum1_offsets, Tensor momentum2_dev, Tensor momentum2_offsets, float eps, float "
        "learning_rate, float beta1, float beta2, float weight_decay, int iter) -> Tensor";
    const at::Tensor starts = at::zeros({1}, at::kLong);
    torch::jit::Stack stack{grad_output,
                            weights,
                            starts,
                            at::tensor({0, 2}, at::kInt),
                            2,
                            at::tensor({1}, at::kLong),
                            at::tensor({0, 1}, at::kLong),
                            0,
                            first,
                            starts,
                            second,
                            starts,
                            1e-8,
                            0.5,
                            0.9,
                            0.99,
                            0.0,
                            1};
    static_cast<void>(run_native(
        "torch::autograd::CppNode<SplitLookupFunction_" + optimizer + "_Op>", schema, stack));
  };
  const at::Tensor grad_output = at::tensor({3.0F, -4.0F}).view({1, 2});

  const at::Tensor sgd = at::ones({6});
  update("sgd", sgd, at::empty({0}), at::empty({0}), grad_output);
  EXPECT_TRUE(at::allclose(sgd, at::tensor({1.0F, 1.0F, -0.5F, 3.0F, 1.0F, 1.0F})));

  const at::Tensor rowwise = at::ones({6});
  const at::Tensor sums = at::zeros({3});
  update("rowwise_adagrad", rowwise, sums, at::empty({0}), grad_output);
  EXPECT_TRUE(at::allclose(sums, at::tensor({0.0F, 12.5F, 0.0F})));
  const float step = 0.5F / std::sqrt(12.5F);
  EXPECT_TRUE(
      at::allclose(rowwise, at::tensor({1.0F, 1.0F, 1 - 3 * step, 1 + 4 * step, 1.0F, 1.0F})));

  const at::Tensor adam = at::ones({6});
  const at::Tensor first = at::zeros({6});
  const at::Tensor second = at::zeros({6});
  update("adam", adam, first, second, grad_output);
  // The first step of Adam is the learning rate, whatever the gradient.
  EXPECT_TRUE(at::allclose(adam, at::tensor({1.0F, 1.0F, 0.5F, 1.5F, 1.0F, 1.0F})));
  EXPECT_TRUE(at::allclose(first, at::tensor({0.0F, 0.0F, 0.3F, -0.4F, 0.0F, 0.0F})));
  EXPECT_TRUE(at::allclose(second, at::tensor({0.0F, 0.0F, 0.09F, 0.16F, 0.0F, 0.0F})));

  const at::Tensor partial = at::ones({6});
  const at::Tensor moment = at::zeros({6});
  const at::Tensor row = at::zeros({3});
  update("partial_rowwise_adam", partial, moment, row, grad_output);
  EXPECT_TRUE(at::allclose(row, at::tensor({0.0F, 0.125F, 0.0F})));
  EXPECT_TRUE(at::allclose(partial, rowwise)) << "the same step: both divide by the row's mean";
}

TEST(SubstituteLookup, DenseBackwardFillsTheAllocatedGradient) {
  const Tables tables;
  const at::Tensor grad_output = at::arange(18, at::kFloat).view({3, 6});
  const std::vector<at::Tensor> gradients = expected_gradients(tables, grad_output, kSum);
  const at::Tensor expected = at::cat({gradients[0].flatten(), gradients[1].flatten()});

  torch::jit::Stack stack = tables.dense();
  stack.insert(stack.begin(), grad_output);
  const torch::jit::Stack fresh = run_native(kDenseLabel, kDense, stack);
  ASSERT_EQ(fresh.size(), 1U);
  expect_close(fresh.front(), expected);

  const at::Tensor other = at::empty({8}, at::kInt);
  const at::Tensor target = at::full({26}, 7.0F);
  stack.insert(stack.end(), {other, target});
  EXPECT_TRUE(run_native(kDenseLabel, kDense, stack, 2).empty());
  expect_close(target, expected);
}

TEST(SubstituteLookup, UnknownLabelsHaveNone) {
  const std::vector<std::string> names = argument_names_of(kAdagrad);
  const std::string op = operator_name_of(kAdagrad);
  const auto found = [&](const std::string& label, std::size_t gradients) {
    return find_native_substitute(label, gradients, op, names).has_value();
  };
  EXPECT_TRUE(found(kAdagradLabel, 1));
  EXPECT_FALSE(found(kAdagradLabel, 0));
  EXPECT_FALSE(found("torch::autograd::CppNode<SplitLookupFunction_lamb_Op>", 1));
  EXPECT_FALSE(found("torch::autograd::CppNode<MyFunction>", 1));
  EXPECT_FALSE(find_native_substitute(kAdagradLabel, 1, "aten::add", names));
  EXPECT_FALSE(find_native_substitute(kAdagradLabel, 1, op, {}));
}

TEST(SubstituteLookup, ArgumentsThatWouldReachBeyondAreRefused) {
  const Tables tables;
  const std::vector<std::string> names = argument_names_of(kDense);
  const auto problem = [&](const torch::jit::Stack& stack) {
    return argument_check("fbgemm::dense_embedding_codegen_lookup_function", names)(stack).value_or(
        "nothing");
  };
  EXPECT_EQ(problem(tables.dense()), "nothing");

  torch::jit::Stack index = tables.dense();
  index[7] = at::tensor({1, 4, 4, 0, 2, 3, 0, 1}, at::kLong);
  EXPECT_EQ(problem(index), "index 3 is outside of [0, 3)");
  torch::jit::Stack offsets = tables.dense();
  offsets[8] = at::tensor({0, 3, 3, 4, 6, 7, 9}, at::kLong);
  EXPECT_EQ(problem(offsets), "offsets do not rise from 0 to at most 8");
  torch::jit::Stack columns = tables.dense();
  columns[2] = at::tensor({0, 0, 0}, at::kInt);
  EXPECT_EQ(problem(columns), "D_offsets go from 0 to 0, not from 0 to 6");
  torch::jit::Stack starts = tables.dense();
  starts[1] = at::tensor({0, 30}, at::kLong);
  EXPECT_EQ(problem(starts), "the table of feature 0 begins at element 0 and ends at 30 of 26");
}

TEST(SubstituteLookup, TellsTheRowsItReaches) {
  const Tables tables;
  const std::vector<TableReach> reach =
      table_reach("fbgemm::split_embedding_codegen_lookup_adagrad_function",
                  argument_names_of(kAdagrad), tables.adagrad());
  ASSERT_EQ(reach.size(), 2U);
  EXPECT_TRUE(reach[0].table.is_same(tables.weights));
  EXPECT_TRUE(reach[1].table.is_same(tables.state));
  for (const TableReach& reached : reach) {
    // Tables of widths 4 and 2 have pieces of 2 in common.
    EXPECT_EQ(reached.row_elements, 2);
    EXPECT_EQ(reached.rows, (std::vector<std::int64_t>{2, 3, 8, 9, 8, 9, 0, 1, 12, 12, 10, 11}));
  }
}

}  // namespace
}  // namespace understudy::replayer
