// fbgemm's operators over jagged tensors: against known results, and against fbgemm itself where it
// is installed.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "replayer/dispatch/op_library.h"
#include "replayer/substitutes/substitutes.h"
#include "substitute_call.h"

namespace understudy::replayer {
namespace {

const std::string kPermute2d =
    "fbgemm::permute_2D_sparse_data(Tensor permute, Tensor lengths, Tensor values, Tensor? "
    "weights=None, int? permuted_lengths_sum=None) -> (Tensor, Tensor, Tensor?)";
const std::string kPermute1d =
    "fbgemm::permute_1D_sparse_data(Tensor permute, Tensor lengths, Tensor values, Tensor? "
    "weights=None, int? permuted_lengths_sum=None) -> (Tensor, Tensor, Tensor?)";
const std::string kBoundsCheck =
    "fbgemm::bounds_check_indices(Tensor rows_per_table, Tensor(a!) indices, Tensor(b!) offsets, "
    "int bounds_check_mode, Tensor(c!) warning, Tensor(d!)? weights=None) -> ()";

std::string cumsum_schema(const std::string& kind) {
  return "fbgemm::asynchronous_" + kind + "_cumsum(Tensor t_in) -> Tensor";
}

at::Tensor ints(std::vector<std::int32_t> values) {
  return at::tensor(values, at::kInt);
}

TEST(SubstituteJagged, PermutesRowsOfLengths) {
  const at::Tensor lengths = ints({1, 2, 0, 3, 2, 1}).view({3, 2});
  const at::Tensor values = ints({10, 11, 12, 20, 21, 22, 30, 31, 32});
  const at::Tensor weights = values.to(at::kFloat);
  const torch::jit::Stack result =
      call_substitute(kPermute2d, {ints({2, 0, 1, 0}), lengths, values, weights, 12});
  ASSERT_EQ(result.size(), 3U);
  EXPECT_TRUE(at::equal(result[0].toTensor(), ints({2, 1, 1, 2, 0, 3, 1, 2}).view({4, 2})));
  const at::Tensor expected = ints({30, 31, 32, 10, 11, 12, 20, 21, 22, 10, 11, 12});
  EXPECT_TRUE(at::equal(result[1].toTensor(), expected));
  EXPECT_TRUE(at::equal(result[2].toTensor(), expected.to(at::kFloat)));
}

TEST(SubstituteJagged, PermutesSingleLengths) {
  const torch::jit::Stack result = call_substitute(
      kPermute1d, {ints({2, 0, 1}), ints({1, 0, 2}), ints({5, 6, 7}), c10::IValue(), 3});
  EXPECT_TRUE(at::equal(result[0].toTensor(), ints({2, 1, 0})));
  EXPECT_TRUE(at::equal(result[1].toTensor(), ints({6, 7, 5})));
  EXPECT_FALSE(result[2].toTensor().defined());
}

TEST(SubstituteJagged, LengthsThatDoNotAddUpAreRefused) {
  const torch::jit::Stack wrong{ints({0, 1}), ints({1, 2, 3, 4}).view({2, 2}), ints({1, 2, 3}),
                                c10::IValue(), c10::IValue()};
  EXPECT_THROW(static_cast<void>(call_substitute(kPermute2d, wrong)), c10::Error);

  const std::vector<std::string> names = argument_names_of(kPermute2d);
  const auto problem = [&](torch::jit::Stack stack) {
    return argument_check("fbgemm::permute_2D_sparse_data", names)(stack).value_or("nothing");
  };
  EXPECT_EQ(problem(wrong), "lengths add up to 10 but there are 3 values");
  torch::jit::Stack right = wrong;
  right[2] = at::zeros({10}, at::kInt);
  EXPECT_EQ(problem(right), "nothing");
  right[4] = 9;
  EXPECT_EQ(problem(right), "permuted lengths add up to 10, not to 9");
  right[0] = ints({0, 2});
  EXPECT_EQ(problem(right), "permute index 2 is outside of [0, 2)");
  right[0] = ints({0, 1});
  right[1] = ints({-1, 2, 3, 6}).view({2, 2});
  EXPECT_EQ(problem(right), "a length is negative");
  right[1] = ints({1, 2, 3, 4}).view({2, 2});
  right[3] = at::zeros({4});
  EXPECT_EQ(problem(right), "there are 10 values but 4 weights");
}

TEST(SubstituteJagged, CumulativeSums) {
  const at::Tensor input = ints({3, 0, 2});
  EXPECT_TRUE(at::equal(call_substitute(cumsum_schema("complete"), {input}).at(0).toTensor(),
                        ints({0, 3, 3, 5})));
  EXPECT_TRUE(at::equal(call_substitute(cumsum_schema("inclusive"), {input}).at(0).toTensor(),
                        ints({3, 3, 5})));
  EXPECT_TRUE(at::equal(call_substitute(cumsum_schema("exclusive"), {input}).at(0).toTensor(),
                        ints({0, 3, 3})));
}

TEST(SubstituteJagged, BoundsCheckMendsIndicesAndCounts) {
  const at::Tensor rows = at::tensor({5, 3}, at::kLong);
  const at::Tensor indices = at::tensor({4, 5, -2, 2, 3, 0}, at::kLong);
  const at::Tensor offsets = at::tensor({0, 2, 3, 4, 9}, at::kLong);
  const at::Tensor warning = at::zeros({1}, at::kLong);
  EXPECT_TRUE(
      call_substitute(kBoundsCheck, {rows, indices, offsets, 1, warning, c10::IValue()}).empty());
  EXPECT_TRUE(at::equal(indices, at::tensor({4, 0, 0, 2, 0, 0}, at::kLong)));
  EXPECT_TRUE(at::equal(offsets, at::tensor({0, 2, 3, 4, 6}, at::kLong)));
  EXPECT_EQ(warning.item<std::int64_t>(), 3);

  const at::Tensor bad = at::tensor({7}, at::kLong);
  const torch::jit::Stack fatal{
      at::tensor({5}, at::kLong), bad, at::tensor({0, 1}, at::kLong), 0, warning, c10::IValue()};
  EXPECT_THROW(static_cast<void>(call_substitute(kBoundsCheck, fatal)), c10::Error);
  EXPECT_EQ(argument_check("fbgemm::bounds_check_indices", argument_names_of(kBoundsCheck))(
                {rows, indices, at::zeros({4}, at::kLong), 1, warning, c10::IValue()})
                .value_or("nothing"),
            "4 offsets do not fit 2 tables");
}

TEST(SubstituteJagged, AgreesWithFbgemm) {
  if (!std::filesystem::exists(UNDERSTUDY_FBGEMM_DIR)) {
    GTEST_SKIP() << "fbgemm_gpu is not installed in " << UNDERSTUDY_FBGEMM_DIR;
  }
  static_cast<void>(load_op_library(UNDERSTUDY_FBGEMM_DIR));
  const auto fbgemm = [](const std::string& schema, torch::jit::Stack stack) {
    const auto handle =
        c10::Dispatcher::singleton().findSchemaOrThrow(operator_name_of(schema).c_str(), "");
    const std::vector<c10::Argument>& arguments = handle.schema().arguments();
    for (std::size_t i = stack.size(); i < arguments.size(); ++i) {
      stack.push_back(*arguments[i].default_value());
    }
    handle.callBoxed(stack);
    return stack;
  };
  const at::Tensor lengths = at::randint(0, 5, {6, 7}, at::kInt);
  const auto total = lengths.sum().item<std::int64_t>();
  const torch::jit::Stack arguments{ints({3, 1, 5, 0, 2, 4}), lengths, at::arange(total, at::kInt),
                                    at::rand({total}), total};
  const torch::jit::Stack ours = call_substitute(kPermute2d, arguments);
  const torch::jit::Stack theirs = fbgemm(kPermute2d, arguments);
  ASSERT_EQ(theirs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(at::equal(ours[i].toTensor(), theirs[i].toTensor())) << i;
  }
  for (const std::string kind : {"complete", "inclusive", "exclusive"}) {
    const torch::jit::Stack input{lengths.flatten()};
    EXPECT_TRUE(at::equal(call_substitute(cumsum_schema(kind), input).at(0).toTensor(),
                          fbgemm(cumsum_schema(kind), input).at(0).toTensor()))
        << kind;
  }

  const auto check = [&](const auto& call) {
    const at::Tensor indices = at::tensor({4, 5, -2, 2, 3, 0}, at::kLong);
    const at::Tensor warning = at::zeros({1}, at::kLong);
    static_cast<void>(
        call(kBoundsCheck, {at::tensor({5, 3}, at::kLong), indices,
                            at::tensor({0, 2, 3, 4, 6}, at::kLong), 2, warning, c10::IValue()}));
    return indices;
  };
  const auto substitute = [](const std::string& schema, const torch::jit::Stack& stack) {
    return call_substitute(schema, stack);
  };
  EXPECT_TRUE(at::equal(check(substitute), check(fbgemm)));
}

}  // namespace
}  // namespace understudy::replayer
