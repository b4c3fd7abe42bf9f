#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "et_schema/base/arena.h"
#include "et_schema/formats/json_trace/escaped_name.h"
#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "trace_values.h"

namespace understudy::et_schema {

/// What a merge with a profile (Chakra's trace_link) added to a node.
struct MergedEvent {
  std::optional<std::int64_t> start_ns = {};
  std::optional<std::int64_t> ns = {};
  std::optional<std::int64_t> stream = {};
  bool is_device = false;  ///< a kernel, copy or memset, which its parent launched
};

/// Returns the sum of two times, or the largest number on overflow.
[[nodiscard]] inline std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// Reads the JSON object of one node, in the flat (up to schema 1.0.1) or the nested layout, into a
/// Node that is not linked yet. Throws Error (bad input) with node and field, or JsonDamage.
class NodeReader {
 public:
  NodeReader(Arena& arena, Losses& losses)
      : arena_(arena), names_(arena, losses), values_(arena, losses) {}

  [[nodiscard]] Node read(JsonPull& json, MergedEvent& merged);

 private:
  struct Parts;
  /// Reads a field that a merge added. Returns false if `key` is not such a field.
  bool read_merged_field(MergedEvent& merged, std::string_view key, JsonPull& value);
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
