#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace understudy::replayer {

/// The arguments of a call, by the names that the operator's schema has in this LibTorch.
class MetaCall {
 public:
  MetaCall(const c10::FunctionSchema& schema, std::span<const c10::IValue> arguments)
      : schema_(schema), arguments_(arguments) {}

  /// Undefined for None and for a name that the schema does not have.
  [[nodiscard]] at::Tensor tensor(std::string_view name) const;
  /// The first tensor among the arguments. Throws c10::Error where there is none.
  [[nodiscard]] at::Tensor first() const;
  [[nodiscard]] std::vector<at::Tensor> tensors(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const;
  [[nodiscard]] double number(std::string_view name, double otherwise = 0) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const;
  [[nodiscard]] bool has(std::string_view name) const;  ///< and it is not None
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] std::optional<at::ScalarType> dtype(std::string_view name) const;
  /// Element `index` of output_mask, or whatever the schema calls it; true where there is none.
  [[nodiscard]] bool wants(std::size_t index) const;
  [[nodiscard]] std::size_t results() const { return schema_.returns().size(); }

 private:
  [[nodiscard]] const c10::IValue* find(std::string_view name) const;

  const c10::FunctionSchema& schema_;
  std::span<const c10::IValue> arguments_;
};

/// What an operator results in without looking at what tensors hold.
using MetaResults = std::vector<c10::IValue>;
using MetaRule = MetaResults (*)(const MetaCall&);

/// Operators and what they result in. `names` are the operators' names with overload, separated by
/// blanks; those that this LibTorch does not have, or has a kernel for, are passed over.
struct MetaRow {
  std::string_view names;
  MetaRule rule;
};

[[nodiscard]] std::span<const MetaRow> elementwise_meta_rows();
[[nodiscard]] std::span<const MetaRow> convolution_meta_rows();
[[nodiscard]] std::span<const MetaRow> normalization_meta_rows();
[[nodiscard]] std::span<const MetaRow> attention_meta_rows();
[[nodiscard]] std::span<const MetaRow> lookup_meta_rows();
[[nodiscard]] std::span<const MetaRow> recurrent_meta_rows();

/// Registers the rows as LibTorch's kernels for the meta device, so that operators that are made of
/// others have theirs too. Once a process; again does nothing.
void register_meta_rows();

/// Whether the call that is answered was recorded on a CPU: some results differ. Of this thread.
[[nodiscard]] bool recorded_on_cpu();
void set_recorded_on_cpu(bool on_cpu);

// What rules are made of.
/// Dense, with the dimensions in the tensor's order.
[[nodiscard]] at::Tensor like(const at::Tensor& tensor);
/// A tensor of the same sizes, in row-major order.
[[nodiscard]] at::Tensor plain(const at::Tensor& tensor);
[[nodiscard]] at::Tensor sized(const at::Tensor& tensor, at::IntArrayRef sizes);
[[nodiscard]] at::Tensor sized(const at::Tensor& tensor, at::IntArrayRef sizes,
                               at::ScalarType dtype);
/// float32 for the half types; else the type itself.
[[nodiscard]] at::ScalarType accumulates(at::ScalarType dtype);

}  // namespace understudy::replayer
