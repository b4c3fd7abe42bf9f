#include "meta_call.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <memory>
#include <string>
#include <utility>

#include "et_schema/facts/schema_text.h"

namespace understudy::replayer {
namespace {

thread_local bool is_recorded_on_cpu = false;

class MetaKernel : public c10::OperatorKernel {
 public:
  explicit MetaKernel(MetaRule rule) : rule_(rule) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const std::size_t count = handle.schema().arguments().size();
    const std::size_t first = stack->size() - count;
    MetaResults results =
        rule_(MetaCall(handle.schema(), std::span<const c10::IValue>(*stack).subspan(first)));
    TORCH_CHECK(results.size() == handle.schema().returns().size(), "a rule gives ", results.size(),
                " results for ", handle.schema().returns().size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      write_to_argument(handle.schema(), i, stack->data() + first, results[i]);
    }
    torch::jit::drop(*stack, count);
    for (c10::IValue& result : results) {
      stack->push_back(std::move(result));
    }
  }

 private:
  /// If a result is an argument, such as `out`, resizes the argument to the rule's layout.
  static void write_to_argument(const c10::FunctionSchema& schema, std::size_t number,
                                const c10::IValue* arguments, c10::IValue& result) {
    const c10::AliasInfo* alias = schema.returns()[number].alias_info();
    for (std::size_t i = 0; alias != nullptr && i < schema.arguments().size(); ++i) {
      const c10::AliasInfo* written = schema.arguments()[i].alias_info();
      if (written == nullptr || !written->isWrite() || *written != *alias ||
          !arguments[i].isTensor() || !result.isTensor()) {
        continue;
      }
      const at::Tensor told = result.toTensor();
      const at::Tensor out = arguments[i].toTensor();
      if (!out.is_same(told) && out.sizes() != told.sizes()) {
        out.resize_(told.sizes());
        out.as_strided_(told.sizes(), told.strides());
      }
      result = out;
      return;
    }
  }

  MetaRule rule_;
};

void register_row(torch::Library& library, const MetaRow& row) {
  for (std::string_view rest = row.names; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    const std::string_view name = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    const std::string full = "aten::" + std::string(name);
    const auto known =
        c10::Dispatcher::singleton().findSchema({std::string(et_schema::without_overload(full)),
                                                 std::string(et_schema::overload_of(full))});
    if (known && !known->hasKernelForDispatchKey(c10::DispatchKey::Meta)) {
      library.impl(std::string(name).c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                                  std::make_unique<MetaKernel>(row.rule)));
    }
  }
}

}  // namespace

void register_meta_rows() {
  static const std::unique_ptr<torch::Library> registered = [] {
    auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten",
                                                    c10::DispatchKey::Meta, __FILE__, __LINE__);
    for (const auto rows :
         {elementwise_meta_rows(), convolution_meta_rows(), normalization_meta_rows(),
          attention_meta_rows(), lookup_meta_rows(), recurrent_meta_rows()}) {
      for (const MetaRow& row : rows) {
        register_row(*library, row);
      }
    }
    return library;
  }();
}

bool recorded_on_cpu() {
  return is_recorded_on_cpu;
}
void set_recorded_on_cpu(bool on_cpu) {
  is_recorded_on_cpu = on_cpu;
}

const c10::IValue* MetaCall::find(std::string_view name) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (schema_.arguments()[i].name() == name) {
      return arguments_[i].isNone() ? nullptr : &arguments_[i];
    }
  }
  return nullptr;
}

bool MetaCall::has(std::string_view name) const {
  return find(name) != nullptr;
}

at::Tensor MetaCall::tensor(std::string_view name) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? value->toTensor() : at::Tensor();
}

at::Tensor MetaCall::first() const {
  for (const c10::IValue& value : arguments_) {
    if (value.isTensor() && value.toTensor().defined()) {
      return value.toTensor();
    }
  }
  TORCH_CHECK(false, schema_.name(), " was given no tensor");
}

std::vector<at::Tensor> MetaCall::tensors(std::string_view name) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? value->toTensorVector() : std::vector<at::Tensor>();
}

std::int64_t MetaCall::integer(std::string_view name, std::int64_t otherwise) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? value->toInt() : otherwise;
}

double MetaCall::number(std::string_view name, double otherwise) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? value->toScalar().toDouble() : otherwise;
}

bool MetaCall::flag(std::string_view name, bool otherwise) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? value->toBool() : otherwise;
}

std::vector<std::int64_t> MetaCall::integers(std::string_view name) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? value->toIntVector() : std::vector<std::int64_t>();
}

std::optional<at::ScalarType> MetaCall::dtype(std::string_view name) const {
  const c10::IValue* value = find(name);
  return value != nullptr ? std::optional(value->toScalarType()) : std::nullopt;
}

bool MetaCall::wants(std::size_t index) const {
  for (const c10::IValue& value : arguments_) {
    if (value.isBoolList()) {
      return index >= value.toBoolList().size() || value.toBoolList()[index];
    }
  }
  return true;
}

at::Tensor like(const at::Tensor& tensor) {
  return at::empty_like(tensor);
}
at::Tensor plain(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options());
}
at::Tensor sized(const at::Tensor& tensor, at::IntArrayRef sizes) {
  return at::empty(sizes, tensor.options());
}
at::Tensor sized(const at::Tensor& tensor, at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::empty(sizes, tensor.options().dtype(dtype));
}
at::ScalarType accumulates(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : dtype;
}

}  // namespace understudy::replayer
