#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "et_schema/program.h"

namespace understudy::generator {

/// What an operator takes an argument for, as far as values decide whether it runs, how long it
/// takes or whether numbers stay finite. The size or count that a meaning needs is told by
/// ArgumentRule::of and ArgumentRule::dim.
enum class Meaning : std::uint8_t {
  kIndex,       ///< integers below the size of dimension `dim` of tensor `of`
  kIndexBelow,  ///< integers below the number in argument `of`
  kIndexList,   ///< a list: element i indexes dimension i of `of`; Boolean elements are masks
  kClass,       ///< class numbers below the size of dimension 1 of `of` (0 for one dimension), or
                ///< ignore_index
  kOffsets,     ///< monotone, ending at the number of elements of `of`
  kLengths,     ///< adds up to the number of elements of `of`
  kLengthsOfResult,  ///< adds up to dimension `dim` of the first result
  kLabel,            ///< class numbers from 1 up to below dimension `dim` of `of`; 0 is the blank
  kSizeOf,           ///< the size of dimension `dim` of `of`
  kSortedLengths,    ///< falling, the first is the size of `of`, adding up to rows of the first
                     ///< result
  kSelectsResult,  ///< non-zero in as many places as the first result has elements along dimension
                   ///< 0
  kSelectsAll,     ///< true in as many places as tensor `of` has elements
  kPermutation,    ///< each number below its own size once
  kTableOffsets,   ///< fbgemm: where each table starts in the weights `of`
  kTableRows,      ///< fbgemm: running sum of the rows of the tables in the weights `of`
  kTableColumns,   ///< fbgemm: running sum of the columns; the last is argument `of`
  kProbability,    ///< in (0, 1)
  kPositive,       ///< well above zero: a variance, what a root or a logarithm is taken of
  kSecondMoment,   ///< non-negative and small: an optimizer's squared gradients
  kSmall,          ///< near zero: a bias, a running mean, an optimizer's first moment
  kScale,          ///< around one: the weight of a normalization
  kKeepMask,       ///< true with the probability that a dropout keeps
  kStepCount       ///< an optimizer's step counter: one or more
};

/// One row of the table: operator (without overload), argument, meaning.
struct ArgumentRule {
  std::string_view op;
  std::string_view argument;
  Meaning meaning;
  std::string_view of = {};
  std::int64_t dim = 0;  ///< negative: argument `dim` of the operator tells it
};

/// The table's rows for one operator's name without overload.
[[nodiscard]] std::span<const ArgumentRule> argument_rules(std::string_view op);

/// The value rule that a row asks for in one call; none where the call has no such argument or
/// size.
[[nodiscard]] std::optional<et_schema::ValueRule> make_rule(
    const ArgumentRule& row, const et_schema::Program& program,
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
