#include "calibrator/design/recipe.h"

#include <cctype>
#include <cmath>
#include <utility>

#include "et_schema/model/slot_extent.h"
#include "et_schema/support/assert.h"
#include "expression.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument;
using et_schema::DType;

/// A size that cannot be.
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
      return {read_expression(text_, values_)};
    }
    if (text_.take("\"")) {
      const std::string_view word = text_.word();
      const bool closed = text_.take("\"");
      UNDERSTUDY_ASSERT(closed);
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

  /// "t*" in front of an item.
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
    std::size_t length = 0;
    while (length < text_.rest.size() && text_.rest[length] != ' ' && text_.rest[length] != ']') {
      ++length;
    }
    const std::string text(text_.rest.substr(0, length));
    text_.rest.remove_prefix(length);
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
      slot.sizes.push_back(read_expression(text_, values_));
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
      const bool counted = text_.take("@");
      UNDERSTUDY_ASSERT(counted);
      make_sparse(slot, read_expression(text_, values_));
    }
    call_.tensors.push_back(std::move(tensor));
    return {Argument::SlotRef{static_cast<et_schema::SlotId>(call_.tensors.size() - 1)}};
  }

  /// The gradient of a table: `rows` of it, at places of which some may be met twice.
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

  /// Each marked tensor takes a binary digit of its own of the layout coordinate.
  bool lies_other_way() {
    double ignored = 0;
    layout_ = std::modf(layout_, &ignored) * 2;
    return layout_ >= 1;
  }

  /// Dimensions `at` and `at + 1` change places in memory.
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
    const bool named = text.take(":");
    UNDERSTUDY_ASSERT(named);
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
  return read_real_expression(text, values);
}

double made_elements(const Recipe& recipe, const DimensionValues& values) {
  TextCursor text{recipe.made};
  return read_real_expression(text, values);
}

}  // namespace understudy::calibrator
