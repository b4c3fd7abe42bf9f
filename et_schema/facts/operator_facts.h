#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

namespace understudy::et_schema {

/// What an operator takes an argument for, as far as values decide whether it runs, how long it
/// takes or whether numbers stay finite. The bound that some need is told by ArgumentFact::of and
/// ArgumentFact::dim: a dimension of a tensor, a number, or an entry of a list of numbers.
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
  kStepCount,      ///< an optimizer's step counter: one or more
  // nothing is asked of the values
  kData,     ///< any values
  kTemplate  ///< only its sizes and its type are looked at
};
inline constexpr std::size_t kMeaningCount = static_cast<std::size_t>(Meaning::kTemplate) + 1;

/// "index", "offsets", …: the meaning's name in docs/values.md.
[[nodiscard]] std::string_view to_string(Meaning meaning);

/// What a capture writes down of an argument's values, since the time depends on it.
enum class Recorded : std::uint8_t {
  kNothing,
  kReuse,  ///< of integers: how often they repeat, where in their range, in what order
  kZeros   ///< of numbers: the share of zeros
};

/// ArgumentFact::dim where the operator's argument `dim` tells the dimension.
inline constexpr std::int64_t kByDim = -1;
/// ArgumentFact::dim of an index into all elements.
inline constexpr std::int64_t kAllDims = std::numeric_limits<std::int64_t>::max();

struct ArgumentFact {
  std::string_view name;
  Meaning meaning = Meaning::kData;
  std::string_view of = {};  ///< "a|b" where overloads call it differently
  std::int64_t dim = 0;
  Recorded recorded = Recorded::kNothing;
  bool on_host = false;  ///< operators on a GPU want it in the host's memory
};

/// The arguments of a row, in any order.
class ArgumentFacts {
 public:
  constexpr ArgumentFacts() = default;
  constexpr ArgumentFacts(std::initializer_list<ArgumentFact> facts)
      : ArgumentFacts(std::span(facts.begin(), facts.size())) {}
  constexpr explicit ArgumentFacts(std::span<const ArgumentFact> facts) : count_(facts.size()) {
    std::ranges::copy(facts, facts_.begin());
  }
  [[nodiscard]] constexpr const ArgumentFact* begin() const { return facts_.data(); }
  [[nodiscard]] constexpr const ArgumentFact* end() const { return facts_.data() + count_; }

  static constexpr std::size_t kMost = 11;

 private:
  std::array<ArgumentFact, kMost> facts_{};
  std::size_t count_ = 0;
};

/// How the dimension that grows with the batch gets from an operator's arguments to its results.
enum class BatchRule : std::uint8_t {
  kNoRule,
  kBroadcast,         ///< the arguments together, each aligned at its last dimension
  kLoss,              ///< into one number; or as kBroadcast
  kByIndices,         ///< of index(): by tensors of indices
  kLikeFirst,         ///< the result is shaped as the first tensor
  kLikeFirstTwice,    ///< both results are
  kLikeSecond,        ///< the first result is shaped as the second tensor
  kLikeNextThree,     ///< results are shaped as the second to fourth tensors
  kSelectedRows,      ///< as many rows as there are indices
  kPartBackward,      ///< a part's gradient, in a tensor of the whole's sizes
  kComplexOfPairs,    ///< the last dimension goes
  kPairsOfComplex,    ///< a last dimension comes
  kReshape,           ///< as many elements in other dimensions
  kTranspose,         ///< two dimensions change places
  kPermute,           ///< dimensions in another order
  kExpand,            ///< dimensions of one element are repeated
  kFactory,           ///< sizes are numbers among the arguments
  kProduct,           ///< of matrices, or batches of them
  kProductAndAddend,  ///< the same, behind what is added
  kLinear,            ///< of rows by weights
  kReduce,            ///< dimensions that are summed over go
  kLeading,           ///< in front of arguments and results
  kConstant,          ///< results do not grow: gradients of weights
  kLookup,            ///< a row for each index
  kSparseIndices,     ///< a column for each element of a sparse tensor
  kSparseValues,      ///< a row for each of them
  kBags,              ///< sums over bags of looked-up rows
  kConcatenate,       ///< tensors behind each other
  kStack,             ///< tensors in a new dimension
  kPartAlongFirst,    ///< a part along the dimension that the first number names
  kPartAlongSecond    ///< or the second
};
inline constexpr std::size_t kBatchRuleCount =
    static_cast<std::size_t>(BatchRule::kPartAlongSecond) + 1;

/// The order of the values that an operator moves into its first result, or, in fbgemm's
/// permutations, its second one.
enum class MovedOrder : std::uint8_t { kSame, kOther, kSorted };

/// Whether the host waits until the device has computed what the operator reads.
enum class HostWait : std::uint8_t {
  kNone,
  kAlways,   ///< a value or a count is copied to the host
  kIndices,  ///< where an index is a mask, or lies on the host
  kCopy,     ///< where it copies between host and device, unless told not to
  kRepeats   ///< where repeats in a tensor are added up for the size of the result
};

/// Of a sparse tensor, what an operator gives.
enum class SparsePart : std::uint8_t { kNone, kIndices, kValues, kCoalesced };

/// What Understudy knows of an operator by its name: a row of the table, which operators with the
/// same facts share. A column says nothing unless a comment says otherwise.
struct OperatorFacts {
  std::string_view name = {};  ///< without overload; a row holds for the in-place form too
  ArgumentFacts arguments = {};
  BatchRule batch = BatchRule::kNoRule;
  std::string_view moves = {};  ///< the argument whose values, unchanged, the result holds
  MovedOrder order = MovedOrder::kSame;
  HostWait host_wait = HostWait::kNone;
  SparsePart part = SparsePart::kNone;
  bool asks = false;                 ///< about tensors, and never looks at what they hold
  bool shows = false;                ///< gives a view, without any computation
  bool fills = false;                ///< writes one number everywhere
  bool draws = false;                ///< random numbers
  bool leaves_range = false;         ///< integers may leave the range of those it was given
  bool counts = false;               ///< values decide the shape of its results, by no mask
  bool joins_masks = false;          ///< two of them, element by element
  bool negates_mask = false;         ///< true where it was false
  bool keeps_positive = false;       ///< above zero where its first argument is well above it
  bool is_logarithm = false;         ///< of zero it gives minus infinity
  bool takes_strides = false;        ///< its argument "stride" gives the strides of its result
  bool reads_rows = false;           ///< of a table, by the index among its arguments
  int part_written = -1;             ///< the result of which it leaves elements as memory had them
  std::string_view not_on_cpu = {};  ///< why it means nothing on a CPU
};

/// The facts of an operator, named with or without its overload; some that say nothing, without a
/// name, where it has no row. fbgemm's lookups, which have a name for each optimizer, share theirs.
[[nodiscard]] const OperatorFacts& operator_facts(std::string_view op);

/// Those of all operators with a row, in order of names.
[[nodiscard]] std::span<const OperatorFacts> all_operator_facts();

/// Whether an operator asks about tensors, and never looks at what they hold: by its row, or by its
/// name ("aten::is_same_size").
[[nodiscard]] bool asks_about_tensors(std::string_view op);

}  // namespace understudy::et_schema
