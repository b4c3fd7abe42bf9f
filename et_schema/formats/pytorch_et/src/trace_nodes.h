#pragma once

#include <string>
#include <string_view>

#include "et_schema/base/arena.h"
#include "et_schema/formats/json_trace/escaped_name.h"
#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "trace_values.h"

namespace understudy::et_schema {

/// Reads the JSON object of one node, in the flat (up to schema 1.0.1) or the nested layout, into a
/// Node that is not linked yet. Throws Error (bad input) with node and field, or JsonDamage.
class NodeReader {
 public:
  NodeReader(Arena& arena, Losses& losses)
      : arena_(arena), names_(arena, losses), values_(arena, losses) {}

  [[nodiscard]] Node read(JsonPull& json);

 private:
  struct Parts;
  void read_field(Node& node, Parts& parts, std::string_view key, JsonPull& value);
  void read_attributes(Node& node, JsonPull& list);
  /// Reads an attribute in the exact spelling of PyTorch's observer, which nearly all files have.
  /// Returns false for any other spelling.
  [[nodiscard]] bool read_as_observer_writes(Node& node, CommAttributes& comm, bool& has_comm,
                                             JsonPull& attribute);
  void read_any_attribute(Node& node, CommAttributes& comm, bool& has_comm, JsonPull& attribute);
  void read_attribute(Node& node, CommAttributes& comm, bool& has_comm, std::string_view name,
                      JsonPull& value);
  /// Reads a field that both layouts have. Returns false if `key` is not such a field.
  bool read_common_field(Node& node, std::string_view key, JsonPull& value);
  [[nodiscard]] std::string_view text(JsonPull& value, std::string_view field);

  Arena& arena_;
  InternedNames names_;
  ValueReader values_;
  std::string unescaped_;
  std::string unescaped_name_;  ///< name of the current attribute
};

}  // namespace understudy::et_schema
