#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "et_schema/json_trace/json_cursor.h"
#include "et_schema/json_trace/json_pull.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// What messages and repairs need to know of the objects in a large list.
struct ObjectsKind {
  std::string_view list;                   ///< its key: "nodes"
  std::string_view one;                    ///< "a node"
  std::string_view many;                   ///< "nodes"
  std::span<const std::string_view> keys;  ///< the keys that may follow an object's name
};

/// Calls read() with each object of the list at the cursor; read() passes the object. An object
/// that is no JSON is cut out by its brackets and repaired, and counted in the losses, so that
/// damage does not spread. read() is then called again for it, and must have kept nothing of the
/// first call, in which it threw. Throws Error (bad input) on what cannot be repaired.
void read_objects(std::string_view json, JsonCursor& cursor, Losses& losses,
                  const ObjectsKind& kind, const std::function<void(JsonPull&)>& read);

}  // namespace understudy::et_schema
