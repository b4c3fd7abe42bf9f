#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "et_schema/base/arena.h"
#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// Returns the category of an event's "cat". Accelerators have their own words for the same
/// categories: "xpu_runtime", "gcu_memcpy", "mtia_ccp_events" (libkineto, ActivityType.cpp).
[[nodiscard]] KinetoCategory category_of(std::string_view text);

/// Returns true for categories that never contain an operator's work, though they may name a
/// device: marks, counters, spans of a stream.
[[nodiscard]] bool is_beside_work(std::string_view text);

/// Parallel lists that describe an operator's arguments. They come in any order, so their positions
/// are kept until the event is read.
struct ArgumentLists {
  std::optional<JsonPull> types;    ///< "Input type"
  std::optional<JsonPull> values;   ///< "Concrete Inputs"
  std::optional<JsonPull> sizes;    ///< "Input Dims"
  std::optional<JsonPull> strides;  ///< "Input Strides"

  /// Keeps the position of a list with this name; ignores other names.
  void keep(std::string_view key, const JsonPull& value);
};

/// Returns the arguments that the lists describe. If a list is shorter than the list of types, the
/// remaining arguments lack its data. If values outnumber types, the types are inferred. Only lists
/// of integers become layouts. Throws JsonDamage.
[[nodiscard]] std::span<const KinetoArgument> read_operator_arguments(const ArgumentLists& lists,
                                                                      Arena& arena);

}  // namespace understudy::et_schema
