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

/// The arguments of a call, by the names in this LibTorch's schema of the operator.
class MetaCall {
 public:
  MetaCall(const c10::FunctionSchema& schema, std::span<const c10::IValue> arguments)
      : schema_(schema), arguments_(arguments) {}

  /// Returns an undefined tensor for None and for a name that the schema does not have.
  [[nodiscard]] at::Tensor tensor(std::string_view name) const;
  /// Returns the first tensor among the arguments. Throws c10::Error if there is none.
  [[nodiscard]] at::Tensor first() const;
  [[nodiscard]] std::vector<at::Tensor> tensors(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const;
  [[nodiscard]] double number(std::string_view name, double otherwise = 0) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const;
  [[nodiscard]] bool has(std::string_view name) const;  ///< exists and is not None
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] std::optional<at::ScalarType> dtype(std::string_view name) const;
  /// Returns element `index` of output_mask or its equivalent in the schema; true if there is none.
  [[nodiscard]] bool wants(std::size_t index) const;
  [[nodiscard]] std::size_t results() const { return schema_.returns().size(); }

 private:
  [[nodiscard]] const c10::IValue* find(std::string_view name) const;

  const c10::FunctionSchema& schema_;
  std::span<const c10::IValue> arguments_;
};

/// An operator's results, computed without reading tensors' values.
using MetaResults = std::vector<c10::IValue>;
using MetaRule = MetaResults (*)(const MetaCall&);

/// A rule and its operators. `names` are names with overload, separated by blanks; operators that
/// this LibTorch lacks, or has a kernel for, are skipped.
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

/// Registers the rows as LibTorch's kernels for the meta device, so that composite operators work
/// there too. Later calls do nothing.
void register_meta_rows();

/// Returns true if this thread's current call was recorded on a CPU: some results differ there.
[[nodiscard]] bool recorded_on_cpu();
void set_recorded_on_cpu(bool on_cpu);

// Helpers of the rules.
/// Returns a dense tensor with the dimensions in the order of `tensor`.
[[nodiscard]] at::Tensor like(const at::Tensor& tensor);
/// Returns a tensor of the same sizes, in row-major order.
[[nodiscard]] at::Tensor plain(const at::Tensor& tensor);
[[nodiscard]] at::Tensor sized(const at::Tensor& tensor, at::IntArrayRef sizes);
[[nodiscard]] at::Tensor sized(const at::Tensor& tensor, at::IntArrayRef sizes,
                               at::ScalarType dtype);
/// Returns float32 for the half types; else the type itself.
[[nodiscard]] at::ScalarType accumulates(at::ScalarType dtype);

}  // namespace understudy::replayer
