#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "et_schema/model/program.h"
#include "generator/emitter/source/emit.h"

namespace understudy::emitter {

/// Thrown for an argument that the source cannot express.
struct CannotShow {
  std::string reason;
};

/// Maps recorded devices to source. If a program never used an accelerator, all tensors are on the
/// chosen device; otherwise only those that were on an accelerator are.
struct DeviceText {
  bool has_accelerator = false;
  /// "bench.device()", "\"cpu\"" or "\"meta\"".
  [[nodiscard]] std::string of(et_schema::Device device) const;
};

/// Returns the source expression of the next slot that an argument reads, in order.
using NextTensor = std::function<std::string()>;

/// Vectors of tensors: the source text of their elements, joined by ", " → the vector's name.
using Vectors = std::map<std::string, std::string>;

struct ArgumentStyle {
  DeviceText devices;
  /// Lists of these tensors are written as the vector's name.
  const Vectors* vectors = nullptr;
};

/// Returns the text of a recorded argument, by its type in the schema ("int[1]?").
/// Throws CannotShow.
[[nodiscard]] std::string argument_text(const et_schema::Argument& argument, std::string_view type,
                                        const ArgumentStyle& style, const NextTensor& next);

/// Returns true if an argument equals the schema's default text.
[[nodiscard]] bool is_default(const et_schema::Argument& argument, std::string_view default_value);

/// Returns "torch.float32".
[[nodiscard]] std::string dtype_text(et_schema::DType dtype);
/// Returns a literal that reads back as the same double.
[[nodiscard]] std::string real_text(double value);
[[nodiscard]] std::string bool_text(bool value);
/// Returns "[1, 2]".
[[nodiscard]] std::string sizes_text(const std::vector<std::int64_t>& sizes);
[[nodiscard]] std::string list_text(const std::vector<std::string>& items);
/// Returns a call of the project's runtime: "bench.number(0.5)".
[[nodiscard]] std::string bench_text(std::string_view name,
                                     const std::vector<std::string>& arguments);

/// Returns true for None and for undefined tensors.
[[nodiscard]] bool is_nothing(const et_schema::Argument& argument);

/// Returns "bench.normal(0.0, 0.01)".
[[nodiscard]] std::string rule_text(const et_schema::ValueRule& rule);

}  // namespace understudy::emitter
