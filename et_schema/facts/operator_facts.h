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

/// How an operator uses an argument, as far as values decide whether it runs, how long it takes or
/// whether numbers stay finite. Some meanings have a bound, which ArgumentFact::of and
/// ArgumentFact::dim define: a dimension of a tensor, a number, or an entry of a list of numbers.
enum class Meaning : std::uint8_t {
  // integers
  kIndex,       ///< integers below the bound
  kPlaneIndex,  ///< integers below the product of the last `dim` sizes of `of`
  kIndexList,   ///< a list: element i indexes dimension i of `of`; Boolean elements are masks
  kClass,  ///< class numbers below the size of dimension 1 of `of` (0 if it has one dimension), or
           ///< ignore_index
  kLabel,  ///< class numbers from 1 to below the bound; 0 is the blank
  kMonotone,         ///< integers below the bound that never decrease
  kOffsets,          ///< monotone, ending at the bound
  kEnds,             ///< end of each group: monotone; the last is the size of the divided dimension
  kLengths,          ///< the sum is the bound
  kLengthsOfResult,  ///< the sum is the size of dimension `dim` of the first result
  kSortedLengths,    ///< descending; the first is the size of the second result, the sum is the
                     ///< number of rows of the first
  kBatchSizes,    ///< descending; the first is the batch (dimension `dim` of `of`, or of the first
                  ///< result), the sum is the number of rows of the first argument
  kSizeOf,        ///< the bound itself
  kPermutation,   ///< each number below its number of elements, once
  kTableOffsets,  ///< fbgemm: start of each table in the weights `of`
  kTableRows,     ///< fbgemm: running sum of the rows of the tables in the weights `of`
  kTableColumns,  ///< fbgemm: running sum of the columns; the last is argument `of`
  // masks
  kSelectsResult,  ///< non-zero in as many places as dimension 0 of the first result has elements
  kSelectsAll,     ///< true in as many places as tensor `of` has elements
  kCondition,  ///< of where(): as kSelectsResult if it is the only argument, otherwise it chooses
               ///< between values
  kHides,      ///< true for hidden elements; never for a whole row
  kShows,      ///< true for elements that are not hidden
  kKeepMask,   ///< true with the keep probability of a dropout
  // numbers; kPositive and kDivisor apply to integers, too
  kProbability,    ///< in (0, 1)
  kUnit,           ///< in (-1, 1)
  kAboveOne,       ///< above 1
  kPositive,       ///< well above zero: a variance, the argument of a root or a logarithm
  kDivisor,        ///< away from zero
  kPowerBase,      ///< well above zero, unless the exponent is a whole number of at least 0
  kSecondMoment,   ///< non-negative and small: an optimizer's squared gradients
  kSmall,          ///< near zero: a bias, a running mean, an optimizer's first moment
  kMovingAverage,  ///< near zero if the operator updates it in place; otherwise any values
  kScale,          ///< around one: the weight of a normalization
  kQuantumScale,   ///< the step of a quantized number
  kAscending,      ///< ascending along the last dimension
  kMatrix,         ///< square, positive definite, well-conditioned
  kZero,           ///< zero: no infinity was found
  kStepCount,      ///< an optimizer's step counter: one or more
  // no requirement on the values
  kData,     ///< any values
  kTemplate  ///< only its sizes and its type are used
};
inline constexpr std::size_t kMeaningCount = static_cast<std::size_t>(Meaning::kTemplate) + 1;

/// Returns the meaning's name in docs/values.md: "index", "offsets", ….
[[nodiscard]] std::string_view to_string(Meaning meaning);

/// Properties of an argument's values that a capture records, since the time depends on them.
enum class Recorded : std::uint8_t {
  kNothing,
  kReuse,  ///< integers: how often they repeat, where in their range, in what order
  kZeros   ///< numbers: the share of zeros
};

/// ArgumentFact::dim if the operator's argument `dim` names the dimension.
inline constexpr std::int64_t kByDim = -1;
/// ArgumentFact::dim of an index into all elements.
inline constexpr std::int64_t kAllDims = std::numeric_limits<std::int64_t>::max();

struct ArgumentFact {
  std::string_view name;
  Meaning meaning = Meaning::kData;
  std::string_view of = {};  ///< "a|b" if overloads use different names
  std::int64_t dim = 0;
  Recorded recorded = Recorded::kNothing;
  bool on_host = false;  ///< operators on a GPU need it in host memory
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

/// Order of the values that an operator moves into its first result, or fbgemm's permutations into
/// their second.
enum class MovedOrder : std::uint8_t { kSame, kOther, kSorted };

/// When the host waits until the device has computed an operator's inputs.
enum class HostWait : std::uint8_t {
  kNone,
  kAlways,   ///< a value or a count is copied to the host
  kIndices,  ///< if an index is a mask, or on the host
  kCopy,     ///< if it copies between host and device, unless non_blocking
  kRepeats   ///< if it sums a tensor of repeats for the size of the result
};

/// The part of a sparse tensor that an operator returns.
enum class SparsePart : std::uint8_t { kNone, kIndices, kValues, kCoalesced };

/// Understudy's knowledge of an operator by its name: a row of the table, which operators with the
/// same facts share. Default values state nothing unless a comment says otherwise.
struct OperatorFacts {
  std::string_view name = {};  ///< without overload; a row applies to the in-place form, too
  ArgumentFacts arguments = {};
  std::string_view moves = {};  ///< the argument whose values the result holds unchanged
  MovedOrder order = MovedOrder::kSame;
  HostWait host_wait = HostWait::kNone;
  SparsePart part = SparsePart::kNone;
  bool asks = false;            ///< queries tensors without reading their content
  bool shows = false;           ///< returns a view, without any computation
  bool fills = false;           ///< writes one number everywhere
  bool draws = false;           ///< draws random numbers
  bool leaves_range = false;    ///< integers may leave their input's range
  bool counts = false;          ///< values of an argument that is no mask decide its results' shape
  bool joins_masks = false;     ///< combines two masks element by element
  bool negates_mask = false;    ///< inverts a mask
  bool keeps_positive = false;  ///< the result is above zero if its parts are well above it
  bool is_logarithm = false;    ///< returns minus infinity for zero
  bool reads_rows = false;      ///< reads rows of a table by its index argument
  int part_written = -1;        ///< index of a result that it writes only in part; -1: none
  std::string_view not_on_cpu = {};  ///< why it is meaningless on a CPU
};

/// Returns the facts of an operator, named with or without its overload. If it has no row, returns
/// default facts without a name. fbgemm's lookups, one per optimizer, share a row.
[[nodiscard]] const OperatorFacts& operator_facts(std::string_view op);

/// Returns the facts of all operators with a row, ordered by name.
[[nodiscard]] std::span<const OperatorFacts> all_operator_facts();

/// Returns true if an operator queries tensors without reading their content, by its row or its
/// name ("aten::is_same_size").
[[nodiscard]] bool asks_about_tensors(std::string_view op);

}  // namespace understudy::et_schema
