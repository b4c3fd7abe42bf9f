#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "generator/flow/model_names.h"
#include "value_arguments.h"
#include "value_kinds.h"

namespace understudy::generator {
namespace {

constexpr std::int64_t kMostNumbers = 1 << 20;  // each number is an entry of the program

/// Returns `count` numbers with this sum: `first`, then falling ones, as equal as possible.
std::optional<ValueRule> falling(std::int64_t count, std::int64_t first, std::int64_t sum) {
  if (count < 1 || count > kMostNumbers || sum < first) {
    return std::nullopt;
  }
  std::vector<ValueRule::Segment> parts = {{1, first}};
  const std::int64_t others = std::max<std::int64_t>(count - 1, 1);
  const std::int64_t each = (sum - first) / others;
  const std::int64_t larger = (sum - first) % others;
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    parts.push_back({1, each + (i < larger ? 1 : 0)});
  }
  return lengths(std::move(parts));
}

/// Lengths of padded sequences: result 1 has a batch size for each step of the longest one.
std::optional<ValueRule> sorted_lengths(const CallView& call, const Slot& self) {
  const std::optional<std::int64_t> longest = size_at(call.result(1), 0);
  const std::optional<std::int64_t> sum = size_at(call.first_result(), 0);
  return longest && sum ? falling(element_count(self), *longest, *sum) : std::nullopt;
}

/// Returns the number of sequences that reach each step of packed data.
std::optional<ValueRule> batch_sizes(const ArgumentFact& row, const CallView& call,
                                     const Slot& self) {
  const bool batch_first = call.flag("batch_first").value_or(false);
  const std::optional<std::int64_t> batch = row.of.empty()
                                                ? size_at(call.first_result(), batch_first ? 0 : 1)
                                                : size_at(call.tensor(row.of), row.dim);
  const std::optional<std::int64_t> rows = size_at(call.first_argument(), 0);
  return batch && rows ? falling(element_count(self), *batch, *rows) : std::nullopt;
}

/// Returns true if the offsets include the end. PyTorch's embedding bags omit it unless requested;
/// all other operators include it.
bool holds_end(const CallView& call) {
  const bool is_bag = call.op().find("embedding_bag") != std::string_view::npos;
  return call.flag("include_last_offset").value_or(!is_bag || call.op().starts_with("fbgemm::"));
}

/// Returns offsets whose distances are at most the row length of the dense tensor.
std::optional<ValueRule> row_offsets(const CallView& call, std::int64_t end) {
  const bool is_padded = call.op() == "aten::_padded_dense_to_jagged_forward";
  return offsets(end, holds_end(call),
                 is_padded ? size_at(call.tensor("dense"), 1).value_or(0) : 0);
}

/// Returns the size of the dimension that _grouped_mm divides into groups: the columns of `mat2` if
/// `self` is 3-D, the columns of `self` if both are 2-D (groups are summed), else its rows.
std::optional<std::int64_t> grouped_rows(const CallView& call) {
  const Slot* left = call.tensor("self");
  const Slot* right = call.tensor("mat2");
  constexpr std::size_t kMatrix = 2;
  if (left == nullptr || right == nullptr) {
    return std::nullopt;
  }
  if (left->sizes.size() != kMatrix) {
    return size_at(right, -1);
  }
  return size_at(left, right->sizes.size() == kMatrix ? 1 : 0);
}

/// Returns the recorded numbers, ascending, each as often as it occurred. A bin's numbers are
/// spaced evenly in its range.
std::vector<std::int64_t> numbers_of(const et_schema::Reuse& reuse) {
  std::vector<std::int64_t> numbers;
  for (const et_schema::ReuseBin& bin : reuse.bins) {
    std::int64_t different = 0;
    for (const et_schema::Repeat& repeat : bin.repeats) {
      different += repeat.numbers;
    }
    std::int64_t place = 0;
    for (const et_schema::Repeat& repeat : bin.repeats) {
      for (std::int64_t i = 0; i < repeat.numbers; ++i, ++place) {
        numbers.insert(numbers.end(), static_cast<std::size_t>(repeat.times),
                       bin.low + place * (bin.high - bin.low) / different);
      }
    }
  }
  return numbers;
}

/// Returns true for the offsets of a row-wise optimizer's state ("momentum1_offsets"), which has
/// fewer elements than the weights.
bool has_one_state_a_row(std::string_view offsets_name, const CallView& call, const Slot& weights) {
  const std::string name = std::string(offsets_name.substr(0, offsets_name.find('_'))) + "_dev";
  const Slot* state = call.tensor(name);
  return state != nullptr && offsets_name.starts_with("momentum") &&
         element_count(*state) < element_count(weights);
}

/// Returns where each table, or its optimizer's state, starts in the memory that all tables share.
std::optional<ValueRule> table_offsets(const ArgumentFact& row, const CallView& call,
                                       const Slot& weights) {
  const Slot* starts = call.tensor(row.name);
  const std::optional<std::int64_t> columns = call.integer("total_D");
  const std::int64_t tables =
      starts == nullptr ? 1 : std::max<std::int64_t>(element_count(*starts), 1);
  if (!columns) {
    return arange(0, element_count(weights) / tables);
  }
  const std::int64_t rows = rows_per_table(call, weights);
  return arange(0,
                has_one_state_a_row(row.name, call, weights) ? rows : rows * (*columns / tables));
}

std::optional<ValueRule> table_columns(const ArgumentFact& row, const CallView& call) {
  // One offset per table, and the end.
  const Slot* self = call.tensor(row.name);
  const std::int64_t tables =
      self == nullptr ? 1 : std::max<std::int64_t>(element_count(*self) - 1, 1);
  const std::optional<std::int64_t> columns = call.integer(row.of);
  return columns ? std::optional(arange(0, *columns / tables)) : std::nullopt;
}

/// Returns the identity. If there are more places than segments (a table with divided columns has
/// its feature twice), the first segments repeat.
std::optional<ValueRule> permutation(std::int64_t places, std::optional<std::int64_t> segments) {
  if (!segments || places <= *segments) {
    return arange(0, 1);
  }
  if (*segments < 1 || places > kMostNumbers) {
    return std::nullopt;
  }
  std::vector<ValueRule::Segment> numbers;
  for (std::int64_t place = 0; place < places; ++place) {
    numbers.push_back({1, place % *segments});
  }
  return lengths(std::move(numbers));
}

}  // namespace

ValueRule group_ends(std::int64_t groups, std::int64_t rows, const et_schema::Reuse* captured) {
  const bool is_captured = captured != nullptr && captured->sorted && captured->run == 1 &&
                           et_schema::draw_count(*captured) == groups;
  std::vector<std::int64_t> ends =
      is_captured ? numbers_of(*captured)
                  : std::vector<std::int64_t>(static_cast<std::size_t>(groups));
  if (!is_captured || ends.back() < 1) {
    std::iota(ends.begin(), ends.end(), 1);
  }
  // The captured step may have had another number of rows.
  const double scale = static_cast<double>(rows) / static_cast<double>(ends.back());
  std::vector<ValueRule::Segment> parts;
  for (const std::int64_t end : ends) {
    parts.push_back({1, std::llround(static_cast<double>(end) * scale)});
  }
  return lengths(std::move(parts));
}

std::optional<ValueRule> lengths_of_ends(const ValueRule& rule) {
  const auto* ends = rule.as<ValueRule::Lengths>();
  if (ends == nullptr) {
    return std::nullopt;
  }
  std::vector<ValueRule::Segment> parts;
  std::int64_t before = 0;
  for (const ValueRule::Segment& end : ends->segments) {
    if (end.count != 1 || end.sum < before) {
      return std::nullopt;
    }
    parts.push_back({1, end.sum - before});
    before = end.sum;
  }
  return lengths(std::move(parts), rule.why);
}

std::int64_t rows_per_table(const CallView& call, const Slot& weights) {
  const std::optional<std::int64_t> columns = call.integer("total_D");
  if (call.tensor("weights_offsets") == nullptr || !columns || *columns <= 0) {
    return 1;
  }
  return std::max<std::int64_t>(element_count(weights) / *columns, 1);
}

std::optional<ValueRule> make_jagged_rule(const ArgumentFact& row, const CallView& call) {
  const Slot* self = call.tensor(row.name);
  const Slot* of = call.tensor(row.of);
  const std::optional<std::int64_t> bound = call.bound(row);
  if (self == nullptr) {
    return std::nullopt;
  }
  switch (row.meaning) {
    case Meaning::kMonotone:
      return bound ? std::optional(offsets(*bound - 1, false)) : std::nullopt;
    case Meaning::kOffsets:
      return bound && element_count(*self) > 0 ? row_offsets(call, *bound) : std::nullopt;
    case Meaning::kEnds: {
      const std::int64_t groups = element_count(*self);
      const std::optional<std::int64_t> rows = grouped_rows(call);
      return rows && groups > 0 && groups <= kMostNumbers
                 ? std::optional(group_ends(groups, *rows, nullptr))
                 : std::nullopt;
    }
    case Meaning::kLengths:
      return bound ? std::optional(lengths({{element_count(*self), *bound}})) : std::nullopt;
    case Meaning::kLengthsOfResult:
      return lengths({{element_count(*self), size_at(call.first_result(), row.dim).value_or(0)}});
    case Meaning::kSortedLengths:
      return sorted_lengths(call, *self);
    case Meaning::kBatchSizes:
      return batch_sizes(row, call, *self);
    case Meaning::kPermutation:
      return permutation(element_count(*self), row.of.empty() ? std::nullopt : bound);
    case Meaning::kTableOffsets:
      return of != nullptr ? table_offsets(row, call, *of) : std::nullopt;
    case Meaning::kTableRows:
      return of != nullptr ? std::optional(arange(0, rows_per_table(call, *of))) : std::nullopt;
    case Meaning::kTableColumns:
      return table_columns(row, call);
    default:
      return std::nullopt;
  }
}

}  // namespace understudy::generator
