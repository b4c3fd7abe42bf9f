#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Thrown for an instruction that the source cannot express.
struct CannotShow {
  std::string reason;
};

/// Maps recorded devices to source. If a program never used an accelerator, all tensors are on the
/// chosen device; otherwise only those that were on an accelerator are.
struct DeviceText {
  bool has_accelerator = false;
  /// "device", "\"cpu\"" or "\"meta\"".
  [[nodiscard]] std::string of(et_schema::Device device) const;
};

/// Returns the variable that holds a slot's tensor. May throw CannotShow.
using Variables = std::function<std::string(et_schema::SlotId)>;

/// Returns "int[1]?" for "int(a!)[1]?".
[[nodiscard]] std::string plain_type(std::string_view type);

/// Returns the text of a recorded argument, by its type in the schema ("int[1]?").
/// Throws CannotShow.
[[nodiscard]] std::string argument_text(const et_schema::Argument& argument, std::string_view type,
                                        const DeviceText& devices, const Variables& variables);

/// Returns "torch.float32".
[[nodiscard]] std::string dtype_text(et_schema::DType dtype);
/// Returns a literal that reads back as the same double.
[[nodiscard]] std::string real_text(double value);
[[nodiscard]] std::string bool_text(bool value);
/// Returns "[1, 2]".
[[nodiscard]] std::string sizes_text(const std::vector<std::int64_t>& sizes);
[[nodiscard]] std::string list_text(const std::vector<std::string>& items);
/// Returns a call of the project's runtime: "bench.normal(0.0, 0.01)".
[[nodiscard]] std::string bench_text(std::string_view name,
                                     const std::vector<std::string>& arguments);

/// Returns true for None and for undefined tensors.
[[nodiscard]] bool is_nothing(const et_schema::Argument& argument);

/// Returns "bench.normal(0.0, 0.01)".
[[nodiscard]] std::string rule_text(const et_schema::ValueRule& rule);

}  // namespace understudy::emitter
