#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "et_schema/json_trace/json_cursor.h"
#include "et_schema/json_trace/json_pull.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// The objects of a large list, for its messages and repairs.
struct ObjectsKind {
  std::string_view list;                   ///< its key: "nodes"
  std::string_view one;                    ///< "a node"
  std::string_view many;                   ///< "nodes"
  std::span<const std::string_view> keys;  ///< those that may follow an object's name
};

/// Calls read() with each object of the list that the cursor stands on; read() passes the object.
/// One that is no JSON is cut out by its brackets and repaired (counted in the losses): damage
/// stays where it is. read() is then called again for it, and must have kept nothing of the first
/// time, in which it threw. Throws Error (bad input) on what cannot be repaired.
void read_objects(std::string_view json, JsonCursor& cursor, Losses& losses,
                  const ObjectsKind& kind, const std::function<void(JsonPull&)>& read);

}  // namespace understudy::et_schema
