#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// What an operator takes an argument for, as far as values decide whether it runs, how long it
/// takes or whether numbers stay finite. The bound that some need is told by ArgumentRule::of and
/// ArgumentRule::dim: a dimension of a tensor, a number, or an entry of a list of numbers.
enum class Meaning : std::uint8_t {
  // integers
  kIndex,       ///< integers below the bound
  kPlaneIndex,  ///< integers below the product of the last `dim` sizes of `of`
  kIndexList,   ///< a list: element i indexes dimension i of `of`; Boolean elements are masks
  kClass,       ///< class numbers below the size of dimension 1 of `of` (0 for one dimension), or
                ///< ignore_index
  kLabel,       ///< class numbers from 1 up to below the bound; 0 is the blank
  kMonotone,    ///< integers below the bound that never fall
  kOffsets,     ///< monotone, ending at the bound
  kEnds,        ///< where each group of rows ends: monotone, the last the rows of the groups
  kLengths,     ///< adds up to the bound
  kLengthsOfResult,  ///< adds up to dimension `dim` of the first result
  kSortedLengths,    ///< falling, the first is the size of the second result, adding up to
                     ///< the rows of the first
  kBatchSizes,       ///< falling, the first is the batch (dimension `dim` of `of`, or of the first
                     ///< result), adding up to the rows of the first argument
  kSizeOf,           ///< the bound itself
  kPermutation,      ///< each number below its own size once
  kTableOffsets,     ///< fbgemm: where each table starts in the weights `of`
  kTableRows,        ///< fbgemm: running sum of the rows of the tables in the weights `of`
  kTableColumns,     ///< fbgemm: running sum of the columns; the last is argument `of`
  // masks
  kSelectsResult,  ///< non-zero in as many places as the first result has elements along dimension
                   ///< 0
  kSelectsAll,     ///< true in as many places as tensor `of` has elements
  kCondition,      ///< of where(): without values as kSelectsResult, else it chooses between them
  kHides,          ///< true where something is hidden: never in all of a row
  kShows,          ///< true where something is not hidden
  kKeepMask,       ///< true with the probability that a dropout keeps
  // numbers; integers too where `positive` and `divisor` are asked for
  kProbability,    ///< in (0, 1)
  kUnit,           ///< in (-1, 1)
  kAboveOne,       ///< above 1
  kPositive,       ///< well above zero: a variance, what a root or a logarithm is taken of
  kDivisor,        ///< away from zero
  kPowerBase,      ///< well above zero, unless the exponent is a whole number from 0 on
  kSecondMoment,   ///< non-negative and small: an optimizer's squared gradients
  kSmall,          ///< near zero: a bias, a running mean, an optimizer's first moment
  kMovingAverage,  ///< near zero where the operator moves it in place; what it mixes otherwise is
                   ///< data
  kScale,          ///< around one: the weight of a normalization
  kQuantumScale,   ///< the step of a quantized number
  kAscending,      ///< rising along the last dimension
  kMatrix,         ///< square, positive definite, well-conditioned
  kZero,           ///< zero: no infinity was found
  kStepCount       ///< an optimizer's step counter: one or more
};

/// One row of the table: operator (without overload), argument, meaning. A row for an operator
/// holds for its in-place form too.
struct ArgumentRule {
  std::string_view op;
  std::string_view argument;
  Meaning meaning;
  std::string_view of = {};
  std::int64_t dim = 0;  ///< negative: argument `dim` of the operator tells it
};

/// The table's rows for one operator's name without overload.
[[nodiscard]] std::span<const ArgumentRule> argument_rules(std::string_view op);
/// All rows, in order of operators.
[[nodiscard]] std::vector<ArgumentRule> all_argument_rules();
/// "index", "offsets", …: the meaning's name in docs/values.md.
[[nodiscard]] std::string_view to_string(Meaning meaning);

/// The value rule that a row asks for in one call; none where the call has no such argument or
/// size.
[[nodiscard]] std::optional<et_schema::ValueRule> make_rule(
    const ArgumentRule& row, const et_schema::Program& program,
    const et_schema::Instruction& instruction);

/// Ends of `groups` groups of `rows` rows together, as large as captured (null: equal).
[[nodiscard]] et_schema::ValueRule group_ends(std::int64_t groups, std::int64_t rows,
                                              const et_schema::Reuse* captured);
/// Where a rule holds such ends, the lengths of the groups.
[[nodiscard]] std::optional<et_schema::ValueRule> lengths_of_ends(const et_schema::ValueRule& rule);

/// Whether the number of true elements decides the shape of the result.
[[nodiscard]] bool decides_a_shape(const ArgumentRule& row,
                                   const et_schema::Instruction& instruction);

/// Results whose shape depends on values and cannot be had by choosing a mask: unique, bincount, ….
[[nodiscard]] bool has_pinned_results(std::string_view op);

/// An argument of an instruction by its name in the recorded schema; null if there is none.
[[nodiscard]] const et_schema::Argument* find_argument(const et_schema::Program& program,
                                                       const et_schema::Instruction& instruction,
                                                       std::string_view name);
/// "aten::add.Tensor" → "aten::add".
[[nodiscard]] std::string_view without_overload(std::string_view name);
[[nodiscard]] std::int64_t element_count(const et_schema::Slot& slot);

}  // namespace understudy::generator
