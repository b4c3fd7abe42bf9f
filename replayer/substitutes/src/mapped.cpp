#include "replayer/substitutes/mapped.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "row_function.h"
#include "substitute_native.h"

namespace understudy::replayer {
namespace {

using et_schema::MapParameter;
using et_schema::MappedCall;
using torch::jit::Stack;

/// Converts a recorded argument to the type of the row's parameter: traces write whole numbers for
/// floats.
c10::IValue as_parameter(const c10::IValue& value, const MapParameter& parameter) {
  if (parameter.type.starts_with("float") && value.isScalar()) {
    return value.toScalar().toDouble();
  }
  if (parameter.type.starts_with("bool") && value.isInt()) {
    return value.toInt() != 0;
  }
  return value;
}

std::vector<c10::IValue> parameters_of(const MappedCall& call, const Stack& stack,
                                       std::size_t first) {
  std::vector<c10::IValue> parameters;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::optional<std::size_t>& argument = call.arguments[i];
    parameters.push_back(argument ? as_parameter(stack[first + *argument], call.row->takes[i])
                                  : c10::IValue());
  }
  return parameters;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

std::variant<Substitute, std::string> find_mapped(std::string_view recorded_schema,
                                                  c10::Device device) {
  et_schema::MapMatch match = et_schema::operator_map().find(recorded_schema);
  if (!match.call) {
    return std::move(match.why_not);
  }
  const MappedCall& call = *match.call;
  std::shared_ptr<const RowFunction> function;
  try {
    function = std::make_shared<const RowFunction>(compile_row(*call.row), device);
  } catch (const c10::Error& error) {
    return call.row->place() + ": " + first_line(error.what_without_backtrace());
  }
  const std::size_t arguments = et_schema::arguments_of(recorded_schema).size();
  auto run = [call, function = std::move(function)](const Stack& stack, std::size_t first) {
    try {
      return (*function)(parameters_of(call, stack, first));
    } catch (const c10::Error&) {
      throw;
    } catch (const et_schema::Error&) {
      throw;
    } catch (const std::exception& error) {  // raised by the function itself
      TORCH_CHECK(false, error.what());
    }
  };
  return Substitute{.by = call.row->by(), .call = on_stack(arguments, std::move(run))};
}

void check_operator_map(const et_schema::OperatorMap& map) {
  for (const et_schema::MapRow& row : map.rows()) {
    static_cast<void>(compile_row(row));
  }
}

}  // namespace understudy::replayer
