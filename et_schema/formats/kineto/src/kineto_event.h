#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "et_schema/base/arena.h"
#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// The category that an event's "cat" means. Other accelerators have their own words for the same
/// things: "xpu_runtime", "gcu_memcpy", "mtia_ccp_events" (libkineto, ActivityType.cpp).
[[nodiscard]] KinetoCategory category_of(std::string_view text);

/// True of categories that never hold work of an operator, though they may name a device: marks,
/// counters, spans of a stream.
[[nodiscard]] bool is_beside_work(std::string_view text);

/// The lists that tell an operator's arguments, side by side. They come in any order, so their
/// places are kept until the event is read.
struct ArgumentLists {
  std::optional<JsonPull> types;    ///< "Input type"
  std::optional<JsonPull> values;   ///< "Concrete Inputs"
  std::optional<JsonPull> sizes;    ///< "Input Dims"
  std::optional<JsonPull> strides;  ///< "Input Strides"

  /// Keeps the place of a list of that name, and nothing of others.
  void keep(std::string_view key, const JsonPull& value);
};

/// The arguments that the lists tell; none without types. A list that is shorter than that of types
/// says nothing about the arguments behind its end; what is no list of integers is no layout.
/// Throws JsonDamage.
[[nodiscard]] std::span<const KinetoArgument> read_operator_arguments(const ArgumentLists& lists,
                                                                      Arena& arena);

}  // namespace understudy::et_schema
