// Calls made of recipes: tensors, numbers, lists, layouts; what cannot be.

#include "replayer/calibrator/design/recipe.h"

#include <gtest/gtest.h>

namespace understudy::calibrator {
namespace {

std::string made(const Recipe& recipe, const DimensionValues& values,
                 const Variation& variation = {}) {
  const std::optional<Call> call = make_call(recipe, values, variation);
  return call ? to_text(*call) : "none";
}

TEST(Recipe, DimensionsAreRangesOrChoices) {
  const std::vector<Dimension> dimensions = dimensions_of({"aten::mm", "m:1..64 s:1|2|7", ""});
  ASSERT_EQ(dimensions.size(), 2U);
  EXPECT_EQ(dimensions[0].name, "m");
  EXPECT_EQ(dimensions[0].low, 1);
  EXPECT_EQ(dimensions[0].high, 64);
  EXPECT_EQ(dimensions[1].choices, (std::vector<std::int64_t>{1, 2, 7}));
}

TEST(Recipe, TensorsOfEachKindAndNumbersAndLists) {
  const DimensionValues values = {{"m", 6}, {"n", 4}, {"t", 2}};
  EXPECT_EQ(made({"aten::x", "", "{m,2*(n-1)} f{m} i{} b{m/4} w{}"}, values,
                 {.dtype = et_schema::DType::kBFloat16}),
            "aten::x(bfloat16[6,6], float32[6], int64[], bool[1], float64[] number)");
  EXPECT_EQ(made({"aten::x", "", "=m+1 3 -1 0.5 1e-5 \"tanh\" true none undef dtype"}, values),
            "aten::x(7, 3, -1, 0.5, 1e-05, \"tanh\", True, None, undefined, 6)");
  EXPECT_EQ(made({"aten::x", "", "[{m} {n}] [t*{n}] [t*0.5] [] [=m 1]"}, values),
            "aten::x([float32[6], float32[4]], [float32[4], float32[4]], [0.5, 0.5], [], [6, 1])");
}

TEST(Recipe, TensorsLieTheOtherWayByTheirOwnDigitOfTheLayout) {
  const Recipe recipe{"aten::mm", "", "{m,k}' {k,n}'"};
  const DimensionValues values = {{"m", 2}, {"k", 3}, {"n", 4}};
  EXPECT_EQ(made(recipe, values, {.layout = 0}), "aten::mm(float32[2,3], float32[3,4])");
  EXPECT_EQ(made(recipe, values, {.layout = 0.5}), "aten::mm(float32[2,3]:[1,2], float32[3,4])");
  EXPECT_EQ(made(recipe, values, {.layout = 0.25}), "aten::mm(float32[2,3], float32[3,4]:[1,3])");
  EXPECT_EQ(made({"aten::x", "", "{2,3,4,5}^"}, {}), "aten::x(float32[2,3,4,5]:[60,5,15,1])");
}

TEST(Recipe, ZerosAndSkewWhereTheRecipeAsksForThem) {
  const Variation variation{.zeros = 0.25, .skew = 1.1};
  EXPECT_EQ(made({"aten::sqrt", "", "{4}z {4}"}, {}, variation),
            "aten::sqrt(float32[4] zeros 0.25, float32[4])");
  EXPECT_EQ(made({.op = "aten::embedding", .dims = "", .args = "{4,2} i{3}", .skews = true}, {},
                 variation),
            "aten::embedding(float32[4,2], int64[3]) skew 1.1");
}

TEST(Recipe, SparseTensorsHaveSoManyRows) {
  const Recipe recipe{"aten::coalesce", "", "s{v,d}@2*n"};
  EXPECT_EQ(made(recipe, {{"v", 40}, {"d", 8}, {"n", 3}}),
            "aten::coalesce(float32[40,8] sparse 6)");
  EXPECT_EQ(made(recipe, {{"v", 40}, {"d", 8}, {"n", 0}}), "none");
}

TEST(Recipe, ATensorWithoutElementsIsNoCall) {
  EXPECT_EQ(made({"aten::x", "", "{m/2}"}, {{"m", 1}}), "none");
}

TEST(Recipe, WorkDoesNotOverflow) {
  const Recipe recipe{.op = "aten::mm", .dims = "", .args = "", .work = "m*m*m*m*m"};
  EXPECT_DOUBLE_EQ(work_of(recipe, {{"m", 100'000}}), 1e25);
}

}  // namespace
}  // namespace understudy::calibrator
