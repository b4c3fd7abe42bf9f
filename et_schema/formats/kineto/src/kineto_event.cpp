#include "kineto_event.h"

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/base/words.h"

namespace understudy::et_schema {
namespace {

/// Capitalised words are those of PyTorch before 1.12 (tb_plugin's event types, Kineto).
struct CategoryNames {
  std::string_view texts;  ///< words (words.h)
  KinetoCategory category;
};
constexpr CategoryNames kCategories[] = {
    {"cpu_op Operator", KinetoCategory::kCpuOp},
    {"kernel Kernel mtia_ccp_events", KinetoCategory::kKernel},
    {"cuda_runtime cuda_driver runtime driver Runtime", KinetoCategory::kRuntime},
    {"user_annotation", KinetoCategory::kUserAnnotation},
    {"gpu_user_annotation", KinetoCategory::kGpuUserAnnotation},
    {"gpu_memcpy Memcpy", KinetoCategory::kGpuMemcpy},
    {"gpu_memset Memset", KinetoCategory::kGpuMemset},
    {"cuda_sync", KinetoCategory::kSync},
    {"overhead", KinetoCategory::kOverhead},
};

/// Categories that are not an operator's work: they accompany work, or are a host call.
constexpr std::string_view kNoWork =
    "cuda_event collective_comm external_correlation ac2g async_cpu_to_gpu fwdbwd Trace "
    "cpu_instant_event hardware_counters mtia_insight mtia_counters cuda_profiler_range "
    "xpu_scope_profiler hpu_op";

/// Walks one of the parallel lists.
class Walk {
 public:
  explicit Walk(const std::optional<JsonPull>& list) : at_(list), is_done_(!list) {
    is_done_ = is_done_ || !at_->stands_on('[');
  }
  /// Returns the next item, which the caller must read or skip; null after the end.
  [[nodiscard]] JsonPull* next() {
    is_done_ = is_done_ || !at_->next_item(is_first_);
    return is_done_ ? nullptr : &*at_;
  }

 private:
  std::optional<JsonPull> at_;
  bool is_first_ = true;
  bool is_done_;
};

/// Adds the numbers of the list at this position to `lists`: one list for a tensor, one for each
/// tensor of a TensorList. Returns true if the list contains lists. Skips the value.
bool read_numbers(JsonPull* value, std::vector<std::vector<std::int64_t>>& lists) {
  if (value == nullptr || !value->stands_on('[')) {
    if (value != nullptr) {
      value->skip();
    }
    return false;
  }
  std::vector<std::int64_t> numbers;
  bool is_nested = false;
  for (bool first = true; value->next_item(first);) {
    std::int64_t number = 0;
    if (value->stands_on('[')) {
      is_nested = true;
      read_numbers(value, lists);
    } else if (value->take(number)) {
      numbers.push_back(number);
    } else {
      value->skip();
    }
  }
  if (!is_nested) {
    lists.push_back(std::move(numbers));
  }
  return is_nested;
}

std::string_view read_text(JsonPull* value, Arena& arena) {
  std::string unescaped;
  std::string_view text;
  if (value != nullptr && !value->take(text, unescaped)) {
    text = value->skip();
  }
  return arena.copy(text);
}

/// Reads a concrete input. Other tools write lists as Python tuples: "(2, 2)".
std::string_view read_concrete(JsonPull* value, Arena& arena) {
  const std::string_view text = read_text(value, arena);
  if (!text.starts_with('(') || !text.ends_with(')')) {
    return text;
  }
  return arena.copy("[" + std::string(text.substr(1, text.size() - 2)) + "]");
}

/// Reads layouts; `is_list` for a list of tensors. Kineto writes "[]" for more than 30 tensors.
std::span<const KinetoLayout> read_layouts(JsonPull* sizes, JsonPull* strides, bool is_list,
                                           Arena& arena) {
  std::vector<std::vector<std::int64_t>> size_lists;
  std::vector<std::vector<std::int64_t>> stride_lists;
  if (!read_numbers(sizes, size_lists) && is_list) {
    size_lists.clear();
  }
  read_numbers(strides, stride_lists);
  const std::span<KinetoLayout> layouts = arena.array<KinetoLayout>(size_lists.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    layouts[i].sizes = arena.copy<std::int64_t>(size_lists[i]);
    if (i < stride_lists.size()) {
      layouts[i].strides = arena.copy<std::int64_t>(stride_lists[i]);
    }
  }
  return layouts;
}

}  // namespace

KinetoCategory category_of(std::string_view text) {
  for (const CategoryNames& known : kCategories) {
    if (has_word(known.texts, text)) {
      return known.category;
    }
  }
  const auto ends_with = [text](std::string_view ending) { return text.ends_with(ending); };
  if (ends_with("_runtime") || ends_with("_driver")) {
    return KinetoCategory::kRuntime;
  }
  if (ends_with("_memcpy")) {
    return KinetoCategory::kGpuMemcpy;
  }
  if (ends_with("_memset")) {
    return KinetoCategory::kGpuMemset;
  }
  return ends_with("_kernel") ? KinetoCategory::kKernel : KinetoCategory::kOther;
}

bool is_beside_work(std::string_view text) {
  return text.empty() || has_word(kNoWork, text);
}

void ArgumentLists::keep(std::string_view key, const JsonPull& value) {
  if (key == "Input type") {
    types = value;
  } else if (key == "Concrete Inputs") {
    values = value;
  } else if (key == "Input Dims" || key == "Input dims") {
    sizes = value;
  } else if (key == "Input Strides") {
    strides = value;
  }
}

std::span<const KinetoArgument> read_operator_arguments(const ArgumentLists& lists, Arena& arena) {
  std::vector<KinetoArgument> arguments;
  Walk types(lists.types);
  Walk values(lists.values);
  Walk sizes(lists.sizes);
  Walk strides(lists.strides);
  while (JsonPull* type = types.next()) {
    KinetoArgument& argument = arguments.emplace_back();
    argument.type = read_text(type, arena);
    argument.value = read_concrete(values.next(), arena);
    argument.layouts =
        read_layouts(sizes.next(), strides.next(), argument.type == "TensorList", arena);
  }
  // Other tools may write types only for tensors, so values can outnumber types.
  while (JsonPull* value = values.next()) {
    KinetoArgument& argument = arguments.emplace_back();
    argument.value = read_concrete(value, arena);
    argument.type = argument.value.empty()            ? ""
                    : argument.value.starts_with('[') ? "ScalarList"
                                                      : "Scalar";
    argument.layouts = arena.array<KinetoLayout>(1);
  }
  return arena.copy<KinetoArgument>(arguments);
}

}  // namespace understudy::et_schema
