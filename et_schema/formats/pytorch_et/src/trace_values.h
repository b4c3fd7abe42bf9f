#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Where the arrays begin that describe the inputs, or the outputs, of one node.
struct ValueArrays {
  std::optional<JsonPull> values;
  std::optional<JsonPull> shapes;
  std::optional<JsonPull> types;
  std::optional<JsonPull> strides;  ///< since schema 1.1.1
  bool told_strides = false;        ///< they were not recorded, but told by whoever wrote the file
};

/// Turns the arrays of values, shapes, types and strides of a node into Values. Throws Error (bad
/// input) with the field set and JsonDamage; the caller adds the node and the file.
class ValueReader {
 public:
  ValueReader(Arena& arena, Losses& losses) : arena_(arena), losses_(losses) {}

  /// `side` is "inputs" or "outputs", for errors.
  [[nodiscard]] std::span<const Value> read(const ValueArrays& arrays, std::string_view side);

 private:
  /// What stands beside a value, taken while the value is. An absent one stays absent below.
  struct Beside {
    JsonPull* shape = nullptr;
    JsonPull* stride = nullptr;
  };

  /// A value and what stands beside it; its type is cut off `type`.
  Value read_value(JsonPull& value, std::string_view& type, const Beside& beside);
  Value read_items(ValueKind kind, JsonPull& value, std::string_view& type, const Beside& beside);
  Value read_tensor(JsonPull& value, std::string_view cpp_name, const Beside& beside);
  Value read_scalar(JsonPull& value, std::string_view type);
  Value read_double(JsonPull& value);
  /// Refuses sizes whose product, or whose last byte, does not fit into 63 bits.
  void check_extent(const Tensor& tensor) const;
  std::span<const std::int64_t> read_integers(JsonPull& list, const char* field);
  /// Moves what was put on the stack since it had `base` values to the arena.
  [[nodiscard]] std::span<const Value> take_from(std::size_t base);
  [[noreturn]] void fail(std::string summary, std::string_view field, std::string expected,
                         std::string got) const;

  Arena& arena_;
  Losses& losses_;
  std::string_view side_;
  bool told_strides_ = false;
  std::vector<Value> stack_;            ///< of the lists that are being read
  std::vector<std::int64_t> integers_;  ///< of the layout that is being read
  std::string unescaped_type_;
  std::string unescaped_value_;
};

}  // namespace understudy::et_schema
