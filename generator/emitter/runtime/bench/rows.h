#pragma once

// Replacements for operators of other libraries, made of ATen's functions. They run if the library
// is not loaded.

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <memory>
#include <optional>
#include <vector>

#include "operators.h"

namespace bench {

/// The function `row` of a TorchScript source. Each operator in it runs as written.
class Row {
 public:
  explicit Row(const char* source) {
    unit_.define(std::nullopt, source, torch::jit::nativeResolver(), nullptr);
    const auto graph = torch::jit::toGraphFunction(unit_.get_function("row")).graph()->copy();
    torch::jit::Inline(*graph);
    code_.emplace(graph, "row");
  }

  std::vector<c10::IValue> run(torch::jit::Stack parameters) {
    const auto& wanted = unit_.get_function("row").getSchema().arguments();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      // Traces write floats with integral values as integers.
      if (parameters[i].isInt() && is_a<c10::FloatType>(wanted[i].type()))
        parameters[i] = static_cast<double>(parameters[i].toInt());
      else if (parameters[i].isInt() && is_a<c10::BoolType>(wanted[i].type()))
        parameters[i] = parameters[i].toInt() != 0;
    }
    torch::jit::InterpreterState(*code_).run(parameters);
    const c10::IValue result = parameters.back();
    return result.isNone()    ? std::vector<c10::IValue>()
           : result.isTuple() ? result.toTupleRef().elements().vec()
                              : std::vector<c10::IValue>{result};
  }

 private:
  template <typename Type>
  static bool is_a(const c10::TypePtr& type) {
    return type->isSubtypeOf(*c10::OptionalType::create(Type::get()));
  }

  torch::jit::CompilationUnit unit_;
  std::optional<torch::jit::Code> code_;
};

/// Returns a stand-in that runs the source's function `row`. `arguments`: by parameter, the
/// position of the recorded argument; -1: None.
inline StandIn row(std::vector<int> arguments, const char* source) {
  return [arguments = std::move(arguments), source, row = std::shared_ptr<Row>()](
             const c10::FunctionSchema&, const std::vector<c10::IValue>& given) mutable {
    if (!row)
      row = std::make_shared<Row>(source);
    torch::jit::Stack parameters;
    for (const int argument : arguments) {
      parameters.push_back(argument < 0 ? c10::IValue() : given.at(argument));
    }
    return row->run(std::move(parameters));
  };
}

}  // namespace bench
