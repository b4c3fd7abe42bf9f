#pragma once

// Operators, called by their recorded names and schemas.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// An operator's results, by position. take() moves a result out.
class Results {
 public:
  explicit Results(torch::jit::Stack stack) : stack_(std::move(stack)) {}
  [[nodiscard]] at::Tensor take(std::size_t i = 0) { return std::move(stack_.at(i)).toTensor(); }
  [[nodiscard]] std::vector<at::Tensor> take_list(std::size_t i = 0) {
    return std::move(stack_.at(i)).toTensorVector();
  }

 private:
  torch::jit::Stack stack_;
};

using List = c10::List<at::Tensor>;
using OptionalList = c10::List<std::optional<at::Tensor>>;
using Ints = c10::List<std::int64_t>;
using Floats = c10::List<double>;
using Bools = c10::List<bool>;
using Scalars = c10::List<at::Scalar>;
inline c10::IValue none() {
  return {};
}
/// Returns a list that repeats one number, as an optimizer passes it for each of its tensors.
template <typename Numbers, typename Number>
Numbers repeated(std::size_t count, Number number) {
  Numbers numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(number);
  }
  return numbers;
}

/// Runs in place of an operator that this LibTorch lacks: converts the recorded arguments to the
/// results.
using StandIn = std::function<std::vector<c10::IValue>(const c10::FunctionSchema& recorded,
                                                       const std::vector<c10::IValue>& given)>;
/// An operator, identified by its recorded schema. The installed one may have more arguments, which
/// get their defaults, or another order of arguments. If the operator is missing, `otherwise` runs.
class Operator {
 public:
  explicit Operator(const char* recorded, StandIn otherwise = nullptr)
      : recorded_(recorded), otherwise_(std::move(otherwise)) {}

  template <typename... Arguments>
  Results operator()(Arguments&&... arguments) {
    if (!handle_ && !stand_in_)
      resolve();
    std::vector<c10::IValue> given;
    given.reserve(sizeof...(arguments));
    (given.emplace_back(std::forward<Arguments>(arguments)), ...);
    if (stand_in_)
      return Results(run_stand_in(given));
    torch::jit::Stack stack;
    stack.reserve(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      stack.push_back(sources_[i] ? std::move(given.at(*sources_[i])) : defaults_[i]);
    }
    handle_->callBoxed(stack);
    return Results(std::move(stack));
  }

 private:
  void resolve() {
    const c10::FunctionSchema recorded = torch::jit::parseSchema(recorded_);
    const auto found = c10::Dispatcher::singleton().findSchema(recorded.operator_name());
    if (!found)
      stand_in_ = otherwise_;
    if (stand_in_) {
      schema_ = recorded;
      return;
    }
    TORCH_CHECK(found, "this LibTorch has no operator ", recorded.operator_name(),
                ": load its library with --op-library");
    const auto& today = found->schema().arguments();
    for (const c10::Argument& argument : today) {
      std::optional<std::size_t> source;
      for (std::size_t i = 0; i < recorded.arguments().size(); ++i) {
        if (recorded.arguments()[i].name() == argument.name())
          source = i;
      }
      TORCH_CHECK(source || argument.default_value(), recorded.operator_name(), " needs '",
                  argument.name(), "' today, which was not recorded");
      sources_.push_back(source);
      defaults_.push_back(source ? c10::IValue() : *argument.default_value());
    }
    handle_ = found;
  }

  /// Runs the stand-in. Observers see it as one operator.
  torch::jit::Stack run_stand_in(const std::vector<c10::IValue>& given) const {
    at::RecordFunction observed(at::RecordScope::FUNCTION);
    if (observed.isActive())
      observed.before(schema_->operator_name().name);
    torch::jit::Stack results = stand_in_(*schema_, given);
    if (observed.isActive() && observed.needsOutputs())
      observed.setOutputs(std::vector<c10::IValue>(results));
    return results;
  }

  const char* recorded_;
  StandIn otherwise_;
  StandIn stand_in_;
  std::optional<c10::FunctionSchema> schema_;  ///< of the stand-in
  std::optional<c10::OperatorHandle> handle_;
  std::vector<std::optional<std::size_t>> sources_;
  std::vector<c10::IValue> defaults_;
};

}  // namespace bench
