#include "left_out.h"

#include <algorithm>
#include <array>
#include <span>

#include "et_schema/base/words.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoEvent;
using et_schema::KinetoLayout;
using Numbers = std::vector<std::int64_t>;
using Children = std::vector<const KinetoEvent*>;

/// A text argument that the name of a child or kernel shows.
struct TextSign {
  std::string_view ops;
  std::string_view sign;  ///< a part of the name
  std::string_view text;  ///< empty: none was passed
  bool of_kernel = false;
};
constexpr auto kTextSigns = std::to_array<TextSign>({
    {"aten::pad", "constant_pad_nd", "constant"},
    {"aten::pad", "reflection_pad", "reflect"},
    {"aten::pad", "replication_pad", "replicate"},
    {"aten::pad", "_pad_circular", "circular"},
    {"aten::gelu aten::gelu_backward", "GeluType)::{lambda()#1}", "tanh", true},
    {"aten::gelu aten::gelu_backward", "GeluType)::{lambda()#2}", "none", true},
    {"aten::div aten::div_", "div_trunc", "trunc", true},
    {"aten::div aten::div_", "div_floor", "floor", true},
    {"aten::div aten::div_", "div_true", "", true},
    {"aten::scatter_reduce", "ReduceAdd", "sum", true},
    {"aten::scatter_reduce", "ReduceMultiply", "prod", true},
    {"aten::scatter_reduce", "ReduceMean", "mean", true},
    {"aten::scatter_reduce", "ReduceMaximum", "amax", true},
    {"aten::scatter_reduce", "ReduceMinimum", "amin", true},
});

/// Usual values of texts that have no default.
struct UsualText {
  std::string_view ops;
  std::string_view text;
};
constexpr auto kUsualTexts = std::to_array<UsualText>(
    {{"aten::index_reduce aten::index_reduce_", "mean"},
     {"aten::meshgrid", "ij"},
     {"aten::scatter aten::scatter_", "add"},
     {"aten::scatter_reduce aten::scatter_reduce_ aten::segment_reduce", "sum"}});

/// Returns true for indexing operators. Each calls the next one.
bool is_indexing(std::string_view name) {
  return et_schema::has_word(
      "aten::index aten::_unsafe_index aten::index_put aten::_unsafe_index_put aten::index_put_ "
      "aten::_index_put_impl_",
      name);
}

const KinetoLayout* layout_of(const KinetoEvent& event, std::size_t argument) {
  return argument < event.arguments.size() && event.arguments[argument].layouts.size() == 1
             ? &event.arguments[argument].layouts.front()
             : nullptr;
}

Numbers numbers_of(const KinetoEvent& event, std::size_t argument) {
  return argument < event.arguments.size() ? integers_in(event.arguments[argument].value)
                                           : Numbers();
}

const KinetoEvent* child_named(const Children& children, std::string_view name) {
  const auto found =
      std::ranges::find(children, name, [](const KinetoEvent* child) { return child->name; });
  return found == children.end() ? nullptr : *found;
}

/// Returns a letter for each dimension of the space to which einsum permutes its operands.
char letter(std::size_t dimension) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return dimension < kLetters.size() ? kLetters[dimension] : '?';
}

/// Returns the letters of an operand of `rank` dimensions; empty if `order` is not a permutation.
std::string letters_of(std::size_t rank, const Numbers& order) {
  std::string letters(rank, '?');
  for (std::size_t to = 0; to < order.size(); ++to) {
    const std::int64_t from = order[to];
    if (from < 0 || from >= static_cast<std::int64_t>(order.size())) {
      return {};
    }
    if (static_cast<std::size_t>(from) < rank) {
      letters[static_cast<std::size_t>(from)] = letter(to);
    }
  }
  return letters.find('?') == std::string::npos ? letters : std::string();
}

/// Returns the number of dimensions of the child's result, for operators that einsum ends with.
std::optional<std::size_t> result_rank(const KinetoEvent& child) {
  const KinetoLayout* layout = layout_of(child, 0);
  const std::size_t listed = numbers_of(child, 1).size();
  if (child.name == "aten::view" || child.name == "aten::reshape" ||
      child.name == "aten::permute") {
    return listed;
  }
  if (child.name == "aten::sum" && layout != nullptr && listed <= layout->sizes.size() &&
      child.arguments.size() > 2 && child.arguments[2].value == "False") {
    return layout->sizes.size() - listed;
  }
  return child.name == "aten::mul" && layout != nullptr ? std::optional(layout->sizes.size())
                                                        : std::nullopt;
}

/// Reconstructs the equation. einsum appends the dimensions that an operand lacks and permutes the
/// result's letters to the front. Operands that repeat a letter are not recognized.
std::string equation_of(const KinetoEvent& einsum, const Children& children) {
  if (einsum.arguments.size() < 2 || children.empty()) {
    return {};
  }
  const std::span<const KinetoLayout> operands = einsum.arguments[1].layouts;
  std::string equation;
  std::size_t operand = 0;
  std::size_t space = 0;
  for (const KinetoEvent* child : children) {
    if (operand == operands.size()) {
      break;
    }
    if (child->name == "aten::unsqueeze") {
      continue;
    }
    const Numbers order = numbers_of(*child, 1);
    const std::size_t rank = operands[operand].sizes.size();
    const std::string letters =
        child->name == "aten::permute" ? letters_of(rank, order) : std::string();
    if (letters.size() != rank || (operand > 0 && order.size() != space)) {
      return {};
    }
    space = order.size();
    equation += (operand++ == 0 ? "" : ",") + letters;
  }
  const std::optional<std::size_t> rank = result_rank(*children.back());
  if (operand == 0 || operand != operands.size() || !rank || *rank > space) {
    return {};
  }
  equation += "->";
  for (std::size_t i = 0; i < *rank; ++i) {
    equation += letter(i);
  }
  return equation;
}

/// Returns true if the numbers of `a` from `at` on begin with those of `b`.
bool has_at(std::span<const std::int64_t> a, std::size_t at, std::span<const std::int64_t> b) {
  return at <= a.size() && b.size() <= a.size() - at &&
         std::ranges::equal(a.subspan(at, b.size()), b);
}

/// Recognizes how index() reads: as_strided(self, sizes, strides), with the indices' sizes and
/// strides of 0 in place of the `indexed` dimensions of self. Returns how many dimensions are
/// before them.
std::optional<std::size_t> dimensions_before(const KinetoEvent& restrided, std::size_t indexed) {
  const KinetoLayout* self = layout_of(restrided, 0);
  const Numbers sizes = numbers_of(restrided, 1);
  const Numbers strides = numbers_of(restrided, 2);
  if (self == nullptr || sizes.size() != strides.size() || indexed > self->sizes.size() ||
      self->strides.size() != self->sizes.size() || sizes.size() + indexed < self->sizes.size()) {
    return {};
  }
  const std::size_t kept = self->sizes.size() - indexed;
  const std::size_t replaced = sizes.size() - kept;
  for (std::size_t before = 0; before <= kept; ++before) {
    const std::span<const std::int64_t> read(strides.data() + before, replaced);
    const bool fits = has_at(sizes, 0, self->sizes.first(before)) &&
                      has_at(strides, 0, self->strides.first(before)) &&
                      has_at(sizes, before + replaced, self->sizes.subspan(before + indexed)) &&
                      has_at(strides, before + replaced, self->strides.subspan(before + indexed)) &&
                      std::ranges::all_of(read, [](std::int64_t stride) { return stride == 0; });
    if (fits) {
      return before;
    }
  }
  return {};
}

/// Finds indices by the preparations of index() and index_put_(). A mask becomes its positions.
/// Indexed dimensions that are not adjacent are moved to the front. self is restrided to the
/// result's sizes, and each index is reshaped to the result's rank.
std::optional<ToldIndices> indices_by_children(const Children& children) {
  ToldIndices told;
  const KinetoEvent* restrided = child_named(children, "aten::as_strided");
  const KinetoEvent* permuted = child_named(children, "aten::permute");
  const KinetoEvent* mask = child_named(children, "aten::nonzero");
  if (const KinetoEvent* filled = child_named(children, "aten::masked_fill_");
      filled != nullptr && layout_of(*filled, 1) != nullptr) {
    return ToldIndices{{0}, "bool", {*layout_of(*filled, 1)}, {}, false};
  }
  for (const KinetoEvent* child : children) {
    if (restrided != nullptr && child->name == "aten::reshape" && layout_of(*child, 0) != nullptr) {
      told.layouts.push_back(*layout_of(*child, 0));
      told.type = child->arguments[0].type;
    }
  }
  const std::size_t indexed = told.layouts.size();
  const std::optional<std::size_t> before =
      indexed == 0 ? std::nullopt : dimensions_before(*restrided, indexed);
  if (!before) {
    return {};
  }
  const Numbers order = permuted == nullptr ? Numbers() : numbers_of(*permuted, 1);
  for (std::size_t i = 0; i < indexed; ++i) {
    const std::int64_t at = permuted == nullptr ? static_cast<std::int64_t>(*before + i)
                            : i < order.size()  ? order[i]
                                                : -1;
    if (at < 0) {
      return {};
    }
    told.positions.push_back(static_cast<std::size_t>(at));
  }
  if (mask != nullptr) {
    const KinetoLayout* layout = layout_of(*mask, 0);
    if (layout == nullptr || layout->sizes.size() != indexed || permuted != nullptr) {
      return {};  // combined with other indices
    }
    told.positions.resize(1);
    told.layouts = {*layout};
    told.type = mask->arguments[0].type;
    told.result_sizes = numbers_of(*restrided, 1);
  }
  return told;
}

/// Finds indices by the operators of an accumulating index_put_() on a GPU. Each index is wrapped
/// into its dimension (remainder) and multiplied by that dimension's stride.
std::optional<ToldIndices> indices_by_strides(const KinetoEvent& put, const Children& children) {
  const KinetoLayout* self = layout_of(put, 0);
  if (self == nullptr || self->strides.size() != self->sizes.size()) {
    return {};
  }
  ToldIndices told;
  for (std::size_t i = 0; i + 1 < children.size(); ++i) {
    const KinetoLayout* index = layout_of(*children[i], 0);
    if (children[i]->name != "aten::remainder" || children[i + 1]->name != "aten::mul" ||
        index == nullptr) {
      continue;
    }
    const Numbers size = numbers_of(*children[i], 1);
    const Numbers stride = numbers_of(*children[i + 1], 1);
    std::size_t at = 0;
    while (at < self->sizes.size() &&
           (Numbers{self->sizes[at]} != size || Numbers{self->strides[at]} != stride ||
            std::ranges::find(told.positions, at) != told.positions.end())) {
      ++at;
    }
    if (at == self->sizes.size()) {
      return {};
    }
    told.positions.push_back(at);
    told.layouts.push_back(*index);
    told.type = children[i]->arguments[0].type;
  }
  return told.positions.empty() ? std::nullopt : std::optional(std::move(told));
}

/// Finds the index of index_put_(self, indices, values) on rows: values have the sizes of the index
/// followed by those of a row of self.
std::optional<ToldIndices> indices_by_values(const KinetoEvent& put) {
  const KinetoLayout* self = layout_of(put, 0);
  const KinetoLayout* values = layout_of(put, 2);
  if (self == nullptr || values == nullptr || self->sizes.empty() || values->sizes.empty() ||
      put.arguments[2].type.empty()) {
    return {};
  }
  const std::span<const std::int64_t> row = self->sizes.subspan(1);
  if (values->sizes.size() <= row.size() ||
      !std::ranges::equal(values->sizes.last(row.size()), row)) {
    return {};
  }
  const KinetoLayout index{values->sizes.first(values->sizes.size() - row.size()), {}};
  return ToldIndices{{0}, "long int", {index}, {}, true};
}

}  // namespace

LeftOutFinder::LeftOutFinder(const HostEvents& host, const et_schema::DeviceTimeline& device)
    : host_(host) {
  for (const et_schema::DeviceEvent& event : device.events) {
    kernels_.try_emplace(host.event_of(event.launcher), host.sources[event.source].name);
  }
}

LeftOutFinder::Children LeftOutFinder::operators_below(HostIndex call) const {
  Children operators;
  for (const HostIndex child : host_.children_of(call)) {
    if (host_.events[child].is_operator) {
      operators.push_back(&host_.source(child));
    }
  }
  return operators;
}

std::optional<ToldIndices> LeftOutFinder::find_indices(HostIndex call) const {
  HostIndex inner = call;
  while (inner + 1 < host_.events[inner].behind && is_indexing(host_.source(inner + 1).name)) {
    ++inner;
  }
  const Children children = operators_below(inner);
  std::optional<ToldIndices> told = indices_by_children(children);
  const bool puts = host_.source(call).name.find("_put") != std::string_view::npos;
  if (!told && puts) {
    told = indices_by_strides(host_.source(inner), children);
  }
  return told || !puts ? told : indices_by_values(host_.source(call));
}

LeftOut LeftOutFinder::find(HostIndex call) const {
  LeftOut left_out;
  const KinetoEvent& event = host_.source(call);
  if (is_indexing(event.name)) {
    left_out.indices = find_indices(call);
    return left_out;
  }
  if (event.name == "aten::einsum") {
    left_out.text = equation_of(event, operators_below(call));
    left_out.has_text = !left_out.text.empty();
    return left_out;
  }
  const auto kernel = kernels_.find(call);
  for (const TextSign& sign : kTextSigns) {
    if (left_out.has_text || !et_schema::has_word(sign.ops, event.name)) {
      continue;
    }
    const auto shows = [&sign](std::string_view name) {
      return name.find(sign.sign) != std::string_view::npos;
    };
    left_out.has_text = sign.of_kernel
                            ? kernel != kernels_.end() && shows(kernel->second)
                            : std::ranges::any_of(operators_below(call), shows, &KinetoEvent::name);
    left_out.text = left_out.has_text ? sign.text : "";
  }
  const auto* const usual = std::ranges::find_if(kUsualTexts, [&event](const UsualText& text) {
    return et_schema::has_word(text.ops, event.name);
  });
  if (!left_out.has_text && usual != kUsualTexts.end()) {
    left_out.text = usual->text;
    left_out.has_text = left_out.is_assumed = true;
  }
  return left_out;
}

}  // namespace understudy::generator
