#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {

/// How calls of one operator are made from a few dimensions, as text.
///
/// `dims`: "m:1..8192 s:1|2": a range that is drawn evenly in its logarithm, or one of a few
/// numbers.
///
/// `args`: the operator's arguments in order, separated by blanks; the rest have their defaults.
/// Expressions are integer arithmetic on dimensions.
/// - {m,k} a tensor of these sizes, of the element type at hand; f{…} float32, i{…} int64, b{…}
///   bool, w{} a Python number; behind it: ' its last two dimensions may lie in memory the other
///   way round, ^ its second and third do, z some of its elements may be zero;
/// - s{v,d}@n a sparse tensor of these sizes with n rows;
/// - =m+1 a number of dimensions; 1 and 0.5 numbers; "text"; true, false, none, undef (no tensor),
///   dtype (the element type's number);
/// - [a b] a list; t*a in a list: `a`, repeated t times.
///
/// `work`: an expression for the multiplications, with which the time grows besides the bytes.
/// `made`: elements of the results, if they are more than those of the arguments.
struct Recipe {
  std::string_view op;  ///< "aten::mm"
  std::string_view dims;
  std::string_view args;
  std::string_view work = "0";
  double weight = 1;   ///< its share of the time among its class
  bool skews = false;  ///< indices are drawn with a skew
  std::string_view made = "0";
};

/// The coordinates of a design point that are not dimensions.
struct Variation {
  et_schema::DType dtype = et_schema::DType::kFloat32;
  double layout = 0;  ///< in [0, 1): which tensors are transposed
  double zeros = 0;
  double skew = 0;
};

/// One dimension of a recipe.
struct Dimension {
  std::string name;
  std::int64_t low = 1;
  std::int64_t high = 1;
  std::vector<std::int64_t> choices;  ///< where there are any: one of them
};
[[nodiscard]] std::vector<Dimension> dimensions_of(const Recipe& recipe);

using DimensionValues = std::map<std::string, std::int64_t, std::less<>>;

/// None where a size would be negative, or a tensor without elements.
[[nodiscard]] std::optional<Call> make_call(const Recipe& recipe, const DimensionValues& values,
                                            const Variation& variation);
/// Recipe::work.
[[nodiscard]] double work_of(const Recipe& recipe, const DimensionValues& values);
/// Recipe::made.
[[nodiscard]] double made_elements(const Recipe& recipe, const DimensionValues& values);

/// The general sweep: operators of training steps, forward and backward. To add one is a line in
/// src/recipes*.cpp; a test builds a call of each.
[[nodiscard]] const std::vector<Recipe>& recipes();

}  // namespace understudy::calibrator
