#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "et_schema/model/program.h"
#include "generator/emitter/source/emit.h"

namespace understudy::emitter {

/// An argument that the source cannot show.
struct CannotShow {
  std::string reason;
};

/// Where recorded devices go: all of a program that never left the CPU to the chosen device, else
/// what was on an accelerator.
struct DeviceText {
  bool has_accelerator = false;
  /// "bench::device()" or "at::kCPU".
  [[nodiscard]] std::string of(et_schema::Device device) const;
};

/// What stands for the next slot that an argument reads.
using NextTensor = std::function<std::string()>;

/// Vectors of tensors: what all their elements are in source, with ", " between them → the vector.
using Vectors = std::map<std::string, std::string>;

struct ArgumentStyle {
  Language language = Language::kCpp;
  DeviceText devices;
  const Vectors* vectors = nullptr;  ///< lists of these tensors are written as the vector
};

/// The C++ (or Python) text of a recorded argument, by its type in the schema ("int[1]?"). Throws
/// CannotShow.
[[nodiscard]] std::string argument_text(const et_schema::Argument& argument, std::string_view type,
                                        const ArgumentStyle& style, const NextTensor& next);

/// Whether an argument is what the schema's default text says.
[[nodiscard]] bool is_default(const et_schema::Argument& argument, std::string_view default_value);

/// "at::kFloat", "torch.float32".
[[nodiscard]] std::string dtype_text(et_schema::DType dtype, Language language);
/// A double that reads back as the same.
[[nodiscard]] std::string real_text(double value, Language language);
[[nodiscard]] std::string bool_text(bool value, Language language);
/// {1, 2} or [1, 2].
[[nodiscard]] std::string sizes_text(const std::vector<std::int64_t>& sizes, Language language);
[[nodiscard]] std::string list_text(const std::vector<std::string>& items, Language language);
/// A call of what goes with every project: "bench::number(0.5)", "bench.number(0.5)".
[[nodiscard]] std::string bench_text(std::string_view name,
                                     const std::vector<std::string>& arguments, Language language);

/// None, or an undefined tensor.
[[nodiscard]] bool is_nothing(const et_schema::Argument& argument);

/// "bench::normal(0.0, 0.01)". `dot`: "bench." for Python.
[[nodiscard]] std::string rule_text(const et_schema::ValueRule& rule, Language language);

}  // namespace understudy::emitter
