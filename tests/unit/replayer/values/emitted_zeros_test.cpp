// Zeros in the states of emitted projects: where bind/externals_test.cpp has them.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/tensors.h"

namespace understudy::replayer {
namespace {

constexpr std::int64_t kRows = 8;

/// A step that writes row 5 of a state, which had zeros in the original.
struct State {
  explicit State(double share) {
    maker.changes({tensor});
    maker.zeros({{tensor, share}});
    maker.fill_all();
    maker.remember();
    maker.clear_zeros();
    step();
    maker.settle_zeros();
  }
  void step() const { tensor[5].add_(1); }
  [[nodiscard]] std::vector<bool> zero_rows() const {
    std::vector<bool> zero;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto first = tensor[row][0].item<float>();
      EXPECT_TRUE(tensor[row].eq(first).all().item<bool>()) << row;
      EXPECT_TRUE(first == 0 || first == 2) << first;
      zero.push_back(first == 0);
    }
    return zero;
  }

  bench::Maker maker{7};
  at::Tensor tensor = maker.tensor(12, at::kFloat, {kRows, 4}, bench::constant(2));
};

TEST(EmittedZeros, LieWhereTheStepWritesNothing) {
  EXPECT_EQ(State(1).zero_rows(),
            (std::vector<bool>{true, true, true, true, true, false, true, true}));
}

TEST(EmittedZeros, AreAsManyAsInTheOriginal) {
  const std::vector<bool> zero = State(0.5).zero_rows();
  EXPECT_EQ(std::count(zero.begin(), zero.end(), true), kRows / 2);
  EXPECT_FALSE(zero[5]);
}

TEST(EmittedZeros, ComeBackWithTheFirstContent) {
  const State state(0.75);
  const std::vector<bool> zero = state.zero_rows();
  state.step();
  state.maker.restore();
  EXPECT_EQ(state.zero_rows(), zero);
}

TEST(EmittedZeros, AStateOfOneDimensionHasThemElementByElement) {
  bench::Maker maker{7};
  const at::Tensor tensor = maker.tensor(12, at::kFloat, {4}, bench::constant(2));
  maker.changes({tensor});
  maker.zeros({{tensor, 0.5}});
  maker.fill_all();
  maker.remember();
  maker.clear_zeros();
  tensor[3].add_(1);
  maker.settle_zeros();
  EXPECT_TRUE(at::equal(tensor, at::tensor({2.0F, 0.0F, 0.0F, 2.0F})));
}

}  // namespace
}  // namespace understudy::replayer
