#include "replayer/substitutes/mapped.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "row_function.h"
#include "stand_ins.h"
#include "substitute_native.h"

namespace understudy::replayer {
namespace {

using et_schema::MapParameter;
using et_schema::MappedCall;
using et_schema::MapRow;
using torch::jit::Stack;

/// Returns the values as a list of this kind; a single one is a list, too.
template <typename Value>
c10::IValue as_list(const c10::IValue& values) {
  c10::List<Value> list;
  for (const c10::IValue& value :
       values.isList() ? values.toListRef() : at::ArrayRef<c10::IValue>(values)) {
    if constexpr (std::is_same_v<Value, bool>) {
      list.push_back(value.isBool() ? value.toBool() : value.toInt() != 0);
    } else {
      list.push_back(value.to<Value>());
    }
  }
  return list;
}

/// Converts a recorded argument to the type of the row's parameter. Traces write whole numbers for
/// floats and flags, a number for a list of one, and undefined tensors for those not given.
c10::IValue as_parameter(const c10::IValue& value, const MapParameter& parameter) {
  // The type is compared as text: this runs at each call, where parsing would cost time.
  const std::string_view type = parameter.type;
  if (value.isNone()) {
    return value;
  }
  if (type.find('[') != std::string_view::npos) {
    return type.starts_with("Tensor") && !value.isTensorList() ? as_list<at::Tensor>(value)
           : type.starts_with("int") && !value.isIntList()     ? as_list<std::int64_t>(value)
           : type.starts_with("bool") && !value.isBoolList()   ? as_list<bool>(value)
                                                               : value;
  }
  if (parameter.is_optional() && value.isTensor() && !value.toTensor().defined()) {
    return {};
  }
  if (type.starts_with("float") && value.isScalar()) {
    return value.toScalar().toDouble();
  }
  if (type.starts_with("bool") && value.isInt()) {
    return value.toInt() != 0;
  }
  return value;
}

/// Returns kLayouts' value.
c10::IValue layouts_of(RecordedResults results) {
  c10::impl::GenericList layouts(c10::AnyType::get());
  for (const et_schema::Slot* slot : results) {
    const bool is_known = slot != nullptr && slot->dtype != et_schema::DType::kUndefined;
    // et_schema::DType has the numbers of c10::ScalarType.
    layouts.push_back(c10::ivalue::Tuple::create(
        is_known ? static_cast<std::int64_t>(slot->dtype) : -1,
        c10::List<std::int64_t>(is_known ? slot->sizes : std::vector<std::int64_t>()),
        c10::List<std::int64_t>(is_known ? slot->strides : std::vector<std::int64_t>())));
  }
  return layouts;
}

std::vector<c10::IValue> parameters_of(const MappedCall& call, const c10::IValue& layouts,
                                       const Stack& stack, std::size_t first) {
  std::vector<c10::IValue> parameters;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const MapParameter& parameter = call.row->takes[i];
    const std::optional<std::size_t>& argument = call.arguments[i];
    parameters.push_back(argument ? as_parameter(stack[first + *argument], parameter)
                         : parameter.type == et_schema::kLayouts ? layouts
                                                                 : c10::IValue());
  }
  return parameters;
}

/// Returns the function of a row on a device. A program calls it at many places; it is prepared
/// once.
std::shared_ptr<const RowFunction> function_of(const MapRow& row, c10::Device device) {
  static std::map<std::pair<const MapRow*, c10::DeviceType>, std::shared_ptr<const RowFunction>>
      prepared;
  std::shared_ptr<const RowFunction>& function = prepared[{&row, device.type()}];
  if (!function) {
    function = std::make_shared<const RowFunction>(compile_row(row), device);
  }
  return function;
}

/// Runs a row's function. If it differentiates, it runs above autograd, as the recorded program
/// did; a replay runs below.
std::vector<c10::IValue> run_row(const MapRow& row, const RowFunction& function, Stack parameters) {
  std::optional<c10::impl::ForceDispatchKeyGuard> keys;
  const c10::AutoGradMode gradients(row.uses_autograd || c10::GradMode::is_enabled());
  if (row.uses_autograd) {
    keys.emplace(c10::default_included_set, c10::default_excluded_set);
  }
  std::vector<c10::IValue> results = function(std::move(parameters));
  for (c10::IValue& result : results) {
    if (result.isNone()) {  // as operators return it
      result = at::Tensor();
    }
  }
  return results;
}

const et_schema::OperatorMap& stand_ins() {
  static const et_schema::OperatorMap map = [] {
    et_schema::OperatorMap rows;
    rows.add_rows(kStandIns, "");
    return rows;
  }();
  return map;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::variant<Substitute, std::string> find_row(const et_schema::OperatorMap& map,
                                               std::string_view recorded_schema, c10::Device device,
                                               RecordedResults results) {
  et_schema::MapMatch match = map.find(recorded_schema);
  if (!match.call) {
    return std::move(match.why_not);
  }
  const MappedCall& call = *match.call;
  std::shared_ptr<const RowFunction> function;
  try {
    function = function_of(*call.row, device);
  } catch (const c10::Error& error) {
    return call.row->place() + ": " + first_line(error.what_without_backtrace());
  }
  const std::size_t arguments = et_schema::arguments_of(recorded_schema).size();
  auto run = [call, function = std::move(function), layouts = layouts_of(results)](
                 const Stack& stack, std::size_t first) {
    try {
      return run_row(*call.row, *function, parameters_of(call, layouts, stack, first));
    } catch (const c10::Error&) {
      throw;
    } catch (const et_schema::Error&) {
      throw;
    } catch (const std::exception& error) {  // raised by the function itself
      TORCH_CHECK(false, error.what());
    }
  };
  return Substitute{.by = call.row->by(),
                    .rung = call.row->is_stub ? Rung::kStubbed : Rung::kSubstituted,
                    .call = on_stack(arguments, std::move(run))};
}

}  // namespace

std::variant<Substitute, std::string> find_mapped(std::string_view recorded_schema,
                                                  c10::Device device) {
  return find_row(et_schema::operator_map(), recorded_schema, device, {});
}

std::optional<Substitute> find_stand_in(std::string_view recorded_schema, c10::Device device,
                                        RecordedResults results) {
  auto found = find_row(stand_ins(), recorded_schema, device, results);
  auto* const substitute = std::get_if<Substitute>(&found);
  return substitute != nullptr ? std::optional(std::move(*substitute)) : std::nullopt;
}

void check_operator_map(const et_schema::OperatorMap& map) {
  for (const et_schema::MapRow& row : map.rows()) {
    static_cast<void>(compile_row(row));
  }
}

}  // namespace understudy::replayer
