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

/// Positions of the arrays that describe the inputs or the outputs of one node.
struct ValueArrays {
  std::optional<JsonPull> values;
  std::optional<JsonPull> shapes;
  std::optional<JsonPull> types;
  std::optional<JsonPull> strides;  ///< since schema 1.1.1
  bool told_strides = false;  ///< the strides were not recorded, but added by the file's writer
};

/// Converts the arrays of values, shapes, types and strides of a node to Values. Throws JsonDamage,
/// or Error (bad input) with the field; the caller adds the node and the file.
class ValueReader {
 public:
  ValueReader(Arena& arena, Losses& losses) : arena_(arena), losses_(losses) {}

  /// `side` is "inputs" or "outputs", for errors.
  [[nodiscard]] std::span<const Value> read(const ValueArrays& arrays, std::string_view side);

 private:
  /// Parallel items of a value, read along with it. A missing one is also missing for nested
  /// values.
  struct Beside {
    JsonPull* shape = nullptr;
    JsonPull* stride = nullptr;
  };

  /// Reads a value and its parallel items; removes its type from `type`.
  Value read_value(JsonPull& value, std::string_view& type, const Beside& beside);
  Value read_items(ValueKind kind, JsonPull& value, std::string_view& type, const Beside& beside);
  Value read_tensor(JsonPull& value, std::string_view cpp_name, const Beside& beside);
  Value read_scalar(JsonPull& value, std::string_view type);
  Value read_double(JsonPull& value);
  /// Throws Error (bad input) if the product of the sizes, or the end in bytes, exceeds 63 bits.
  void check_extent(const Tensor& tensor) const;
  std::span<const std::int64_t> read_integers(JsonPull& list, const char* field);
  /// Moves the values of the stack from position `base` on to the arena.
  [[nodiscard]] std::span<const Value> take_from(std::size_t base);
  [[noreturn]] void fail(std::string summary, std::string_view field, std::string expected,
                         std::string got) const;

  Arena& arena_;
  Losses& losses_;
  std::string_view side_;
  bool told_strides_ = false;
  std::vector<Value> stack_;            ///< items of the lists that are being read
  std::vector<std::int64_t> integers_;  ///< numbers of the layout that is being read
  std::string unescaped_type_;
  std::string unescaped_value_;
};

}  // namespace understudy::et_schema
