#pragma once

#include <simdjson.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "et_schema/support/arena.h"
#include "et_schema/support/error.h"

namespace understudy::et_schema {

/// The arrays that describe the inputs, or the outputs, of one node.
struct ValueArrays {
  simdjson::dom::element values;
  simdjson::dom::element shapes;
  simdjson::dom::element types;
  simdjson::dom::element strides;
  bool has_values = false;
  bool has_shapes = false;
  bool has_types = false;
  bool has_strides = false;   ///< since schema 1.1.1
  bool told_strides = false;  ///< they were not recorded, but told by whoever wrote the file
};

/// Turns the arrays of values, shapes, types and strides of a node into Values. Throws Error (bad
/// input) with the field set; the caller adds the node and the file.
class ValueReader {
 public:
  ValueReader(Arena& arena, Losses& losses) : arena_(arena), losses_(losses) {}

  /// `side` is "inputs" or "outputs", for errors.
  [[nodiscard]] std::span<const Value> read(const ValueArrays& arrays, std::string_view side);

 private:
  /// What stands beside one value. An absent shape or stride stays absent below.
  struct Beside {
    simdjson::dom::element shape;
    simdjson::dom::element stride;
    bool has_shape = false;
    bool has_stride = false;
  };

  Value read_value(simdjson::dom::element value, std::string_view& type, const Beside& beside);
  Value read_items(ValueKind kind, simdjson::dom::element value, std::string_view& type,
                   const Beside& beside);
  Value read_tensor(simdjson::dom::element value, std::string_view cpp_name, const Beside& beside);
  Value read_scalar(simdjson::dom::element value, std::string_view type);
  Value read_double(simdjson::dom::element value);
  /// Refuses sizes whose product, or whose last byte, does not fit into 63 bits.
  void check_extent(const Tensor& tensor) const;
  std::span<const std::int64_t> read_integers(simdjson::dom::element list, const char* field);
  [[noreturn]] void fail(std::string summary, std::string_view field, std::string expected,
                         std::string got) const;

  Arena& arena_;
  Losses& losses_;
  std::string_view side_;
  bool told_strides_ = false;
};

}  // namespace understudy::et_schema
