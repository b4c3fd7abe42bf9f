#pragma once

#include <simdjson.h>

#include <string_view>

#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "et_schema/support/arena.h"
#include "trace_values.h"

namespace understudy::et_schema {

/// Turns the JSON object of one node, of the flat (up to schema 1.0.1) or the nested layout, into a
/// Node whose links are not made yet. Throws Error (bad input) with node and field set.
class NodeReader {
 public:
  NodeReader(Arena& arena, Losses& losses)
      : arena_(arena), losses_(losses), values_(arena, losses) {}

  [[nodiscard]] Node read(simdjson::dom::object object);

 private:
  struct Parts;
  void read_field(Node& node, Parts& parts, std::string_view key, simdjson::dom::element value);
  void read_attributes(Node& node, simdjson::dom::element list);
  /// Reads a field that both layouts have; false if `key` is none.
  bool read_common_field(Node& node, std::string_view key, simdjson::dom::element value);
  /// Reads an attribute of record_param_comms; false if `name` is none.
  bool read_comm_attribute(CommAttributes& comm, std::string_view name,
                           simdjson::dom::element value);
  [[nodiscard]] std::string_view text(simdjson::dom::element value, std::string_view field);

  Arena& arena_;
  Losses& losses_;
  ValueReader values_;
};

}  // namespace understudy::et_schema
