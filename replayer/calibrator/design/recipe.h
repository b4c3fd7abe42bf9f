#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {

/// Describes, as text, how calls of one operator are made from a few dimensions.
///
/// `dims`: "m:1..8192 s:1|2": a range that is drawn evenly in its logarithm, or one of a few
/// numbers.
///
/// `args`: the operator's arguments in order, separated by blanks; the others have their defaults.
/// Expressions are integer arithmetic on dimensions.
/// - {m,k} a tensor of these sizes and the drawn element type; f{…} float32, i{…} int64, b{…} bool,
///   w{} a Python number. Suffixes: ' the last two dimensions may be swapped in memory, ^ the
///   second and third may be swapped in memory, z some elements may be zero;
/// - s{v,d}@n a sparse tensor of these sizes with n rows;
/// - =m+1 a number of dimensions; 1 and 0.5 numbers; "text"; true, false, none, undef (no tensor),
///   dtype (the element type's number);
/// - [a b] a list; t*a in a list: `a`, repeated t times.
///
/// `work`: an expression for the multiplications, which cost time beside the bytes.
/// `made`: the same for the elements of the results, if they are more than the arguments'.
struct Recipe {
  std::string_view op;  ///< "aten::mm"
  std::string_view dims;
  std::string_view args;
  std::string_view work = "0";
  int calls = 1;       ///< in a round
  bool skews = false;  ///< indices are drawn with a skew
  std::string_view made = "0";
};

/// The coordinates of a design point other than dimensions.
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
  std::vector<std::int64_t> choices;  ///< if not empty: the allowed values
};
[[nodiscard]] std::vector<Dimension> dimensions_of(const Recipe& recipe);

using DimensionValues = std::map<std::string, std::int64_t, std::less<>>;

/// Makes the call; returns nothing if a size would be negative, or a tensor without elements.
[[nodiscard]] std::optional<Call> make_call(const Recipe& recipe, const DimensionValues& values,
                                            const Variation& variation);
/// Evaluates Recipe::work.
[[nodiscard]] double work_of(const Recipe& recipe, const DimensionValues& values);
/// Evaluates Recipe::made.
[[nodiscard]] double made_elements(const Recipe& recipe, const DimensionValues& values);

/// Returns the recipes of the general sweep: operators of training steps, forward and backward. A
/// new operator is a new line in src/recipes*.cpp; a test builds a call of each.
[[nodiscard]] const std::vector<Recipe>& recipes();

}  // namespace understudy::calibrator
