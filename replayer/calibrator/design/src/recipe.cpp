#include "replayer/calibrator/design/recipe.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/model/slot_extent.h"
#include "recipe_tables.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument;
using et_schema::DType;

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// A cursor over a text.
struct TextCursor {
  std::string_view rest;

  void skip_blanks() { rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size())); }
  [[nodiscard]] bool at_end() const { return rest.empty(); }
  [[nodiscard]] char peek() const { return rest.empty() ? '\0' : rest.front(); }
  /// Skips `expected` and returns true if it comes next.
  bool take(std::string_view expected) {
    const bool is_next = rest.starts_with(expected);
    rest.remove_prefix(is_next ? expected.size() : 0);
    return is_next;
  }
  void expect(std::string_view expected) {
    const bool is_next = take(expected);
    UNDERSTUDY_ASSERT(is_next);
  }
  std::string_view word() {
    const auto* const end = std::ranges::find_if_not(rest, is_word);
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(word.size());
    return word;
  }
};

/// Arithmetic on dimensions: numbers, names, + - * /, parentheses; `/` rounds down. `Number` is an
/// integer, or a floating-point type for products of work that would overflow. Recipes are part of
/// the program, so an error in one is a broken invariant.
template <typename Number>
class Expression {
 public:
  Expression(TextCursor& text, const DimensionValues& dimensions)
      : text_(text), dimensions_(dimensions) {}

  Number sum() {
    Number value = product();
    while (true) {
      if (text_.take("+")) {
        value += product();
      } else if (text_.take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

 private:
  Number product() {
    Number value = factor();
    while (true) {
      if (text_.take("*")) {
        value *= factor();
      } else if (text_.take("/")) {
        value = divided(value, factor());
      } else {
        return value;
      }
    }
  }

  static Number divided(Number value, Number by) {
    UNDERSTUDY_ASSERT(by != 0);
    if constexpr (std::is_integral_v<Number>) {
      return value / by;
    } else {
      return std::floor(value / by);
    }
  }

  Number factor() {
    text_.skip_blanks();
    if (text_.take("(")) {
      const Number value = sum();
      text_.expect(")");
      return value;
    }
    const std::string_view word = text_.word();
    UNDERSTUDY_ASSERT(!word.empty());
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      return static_cast<Number>(std::stoll(std::string(word)));
    }
    const auto found = dimensions_.find(word);
    UNDERSTUDY_ASSERT(found != dimensions_.end());
    return static_cast<Number>(found->second);
  }

  TextCursor& text_;
  const DimensionValues& dimensions_;
};

std::int64_t read_integer(TextCursor& text, const DimensionValues& values) {
  return Expression<std::int64_t>(text, values).sum();
}

/// Thrown for an impossible size.
struct Impossible {};

class ArgumentReader {
 public:
  ArgumentReader(const DimensionValues& values, const Variation& variation, Call& call)
      : values_(values), variation_(variation), call_(call) {}

  std::vector<Argument> read(std::string_view text) {
    text_.rest = text;
    std::vector<Argument> arguments;
    for (text_.skip_blanks(); !text_.at_end(); text_.skip_blanks()) {
      arguments.emplace_back() = argument();
    }
    return arguments;
  }

 private:
  Argument argument() {
    text_.skip_blanks();
    if (text_.take("[")) {
      return {list()};
    }
    if (text_.take("=")) {
      return {read_integer(text_, values_)};
    }
    if (text_.take("\"")) {
      const std::string_view word = text_.word();
      text_.expect("\"");
      return {std::string(word)};
    }
    for (const std::string_view kind : {"{", "f{", "i{", "b{", "w{", "s{"}) {
      if (text_.rest.starts_with(kind)) {
        text_.take(kind);
        return tensor(kind.size() == 1 ? ' ' : kind.front());
      }
    }
    return text_.peek() == '-' || std::isdigit(static_cast<unsigned char>(text_.peek())) != 0
               ? number()
               : word();
  }

  Argument::List list() {
    Argument::List items;
    for (text_.skip_blanks(); !text_.take("]"); text_.skip_blanks()) {
      UNDERSTUDY_ASSERT(!text_.at_end());
      const std::int64_t times = repetitions();
      const std::string_view begin = text_.rest;
      for (std::int64_t i = 0; i < times; ++i) {
        text_.rest = begin;
        items.emplace_back() = argument();
      }
    }
    return items;
  }

  /// Reads "t*" in front of an item; returns 1 without it.
  std::int64_t repetitions() {
    TextCursor ahead = text_;
    const std::string_view name = ahead.word();
    const auto found = values_.find(name);
    if (found == values_.end() || !ahead.take("*")) {
      return 1;
    }
    text_ = ahead;
    return found->second;
  }

  Argument word() {
    const std::string_view word = text_.word();
    if (word == "none") {
      return {Argument::None{}};
    }
    if (word == "undef") {
      return {Argument::Undefined{}};
    }
    if (word == "dtype") {
      return {static_cast<std::int64_t>(variation_.dtype)};
    }
    UNDERSTUDY_ASSERT(word == "true" || word == "false");
    return {word == "true"};
  }

  Argument number() {
    const std::string text(text_.rest.substr(0, text_.rest.find_first_of(" ]")));
    text_.rest.remove_prefix(text.size());
    if (text.find_first_of(".e") == std::string::npos) {
      return {static_cast<std::int64_t>(std::stoll(text))};
    }
    return {std::stod(text)};
  }

  Argument tensor(char kind) {
    CallTensor tensor;
    et_schema::Slot& slot = tensor.layout;
    slot.dtype = dtype_of(kind);
    slot.strides_recorded = true;
    slot.wrapped_number = kind == 'w';
    while (!text_.take("}")) {
      slot.sizes.push_back(read_integer(text_, values_));
      if (slot.sizes.back() < 1) {
        throw Impossible();
      }
      text_.take(",");
    }
    slot.strides = et_schema::contiguous_strides(slot.sizes);
    if (text_.take("'") && lies_other_way()) {
      swap_in_memory(slot, slot.sizes.size() - 2);
    }
    if (text_.take("^")) {
      swap_in_memory(slot, 1);
    }
    if (text_.take("z")) {
      tensor.zeros = variation_.zeros;
    }
    if (kind == 's') {
      text_.expect("@");
      make_sparse(slot, read_integer(text_, values_));
    }
    call_.tensors.push_back(std::move(tensor));
    return {Argument::SlotRef{static_cast<et_schema::SlotId>(call_.tensors.size() - 1)}};
  }

  /// Makes the sparse gradient of a table: `rows` of its rows, which may repeat.
  static void make_sparse(et_schema::Slot& slot, std::int64_t rows) {
    if (rows < 1) {
      throw Impossible();
    }
    slot.sparse = true;
    slot.strides.assign(slot.sizes.size(), 0);
    const et_schema::ValueRule places{et_schema::ValueRule::Integers{.high = slot.sizes.front()}};
    slot.content = et_schema::SparseContent{et_schema::SparseLayout::kCoo, rows, false, {places}};
  }

  DType dtype_of(char kind) const {
    switch (kind) {
      case 'f':
        return DType::kFloat32;
      case 'i':
        return DType::kInt64;
      case 'b':
        return DType::kBool;
      case 'w':
        return DType::kFloat64;
      default:
        return variation_.dtype;
    }
  }

  /// Consumes a binary digit of the layout coordinate: 1 if the next marked tensor is transposed.
  bool lies_other_way() {
    double ignored = 0;
    layout_ = std::modf(layout_, &ignored) * 2;
    return layout_ >= 1;
  }

  /// Swaps dimensions `at` and `at + 1` in memory.
  static void swap_in_memory(et_schema::Slot& slot, std::size_t at) {
    UNDERSTUDY_ASSERT(slot.sizes.size() >= at + 2);
    std::vector<std::int64_t> sizes = slot.sizes;
    std::swap(sizes[at], sizes[at + 1]);
    slot.strides = et_schema::contiguous_strides(sizes);
    std::swap(slot.strides[at], slot.strides[at + 1]);
  }

  const DimensionValues& values_;
  const Variation& variation_;
  Call& call_;
  TextCursor text_;
  double layout_ = variation_.layout;
};

std::int64_t read_number(TextCursor& text) {
  const std::string_view word = text.word();
  UNDERSTUDY_ASSERT(!word.empty());
  return std::stoll(std::string(word));
}

}  // namespace

std::vector<Dimension> dimensions_of(const Recipe& recipe) {
  std::vector<Dimension> dimensions;
  TextCursor text{recipe.dims};
  for (text.skip_blanks(); !text.at_end(); text.skip_blanks()) {
    Dimension& dimension = dimensions.emplace_back();
    dimension.name = text.word();
    text.expect(":");
    dimension.low = read_number(text);
    dimension.high = dimension.low;
    if (text.take("..")) {
      dimension.high = read_number(text);
      continue;
    }
    dimension.choices = {dimension.low};
    while (text.take("|")) {
      dimension.choices.push_back(read_number(text));
    }
  }
  return dimensions;
}

std::optional<Call> make_call(const Recipe& recipe, const DimensionValues& values,
                              const Variation& variation) {
  Call call;
  call.schema = recipe.op;
  call.index_skew = recipe.skews ? variation.skew : 0;
  try {
    call.args = ArgumentReader(values, variation, call).read(recipe.args);
  } catch (const Impossible&) {
    return std::nullopt;
  }
  return call;
}

double work_of(const Recipe& recipe, const DimensionValues& values) {
  TextCursor text{recipe.work};
  return Expression<double>(text, values).sum();
}

double made_elements(const Recipe& recipe, const DimensionValues& values) {
  TextCursor text{recipe.made};
  return Expression<double>(text, values).sum();
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> joined;
    for (const std::span<const Recipe> table :
         {layer_recipes(), elementwise_recipes(), memory_recipes()}) {
      joined.insert(joined.end(), table.begin(), table.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace understudy::calibrator
