#include "replayer/dispatch/arguments.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "et_schema/model/unrecorded.h"
#include "replayer/dispatch/layout.h"

namespace understudy::replayer {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

[[noreturn]] void refuse(const std::string& type, std::string_view got) {
  throw BoxFailure{
      fmt::format("an argument of type {} cannot be made from the recorded {}", type, got)};
}

std::string kind_of(const Argument& argument) {
  constexpr std::array<std::string_view, 10> kNames = {
      "None",   "undefined tensor", "tensor", "bool",        "integer",
      "double", "string",           "device", "placeholder", "list"};
  std::string name(kNames[argument.value.index()]);
  if (const auto* opaque = std::get_if<Argument::Opaque>(&argument.value)) {
    name += " <" + opaque->tag + ">";
  }
  return name;
}

/// Returns a number as a tensor: 0-dim, and as weak in type promotion as Python's numbers.
at::Tensor wrapped_number(const c10::Scalar& scalar) {
  at::Tensor tensor = c10::scalar_to_tensor(scalar);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

std::optional<c10::Scalar> as_scalar(const Argument& argument) {
  if (const auto* flag = std::get_if<bool>(&argument.value)) {
    return c10::Scalar(*flag);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
    return c10::Scalar(*integer);
  }
  if (const auto* real = std::get_if<double>(&argument.value)) {
    return c10::Scalar(*real);
  }
  return std::nullopt;
}

std::int64_t as_integer(const Argument& argument, const std::string& type) {
  const std::optional<c10::Scalar> scalar = as_scalar(argument);
  if (!scalar) {
    refuse(type, kind_of(argument));
  }
  if (scalar->isFloatingPoint() && std::nearbyint(scalar->toDouble()) != scalar->toDouble()) {
    refuse(type, "fractional number");
  }
  return scalar->isFloatingPoint() ? static_cast<std::int64_t>(scalar->toDouble())
                                   : scalar->toLong();
}

double as_real(const Argument& argument, const std::string& type) {
  if (const std::optional<c10::Scalar> scalar = as_scalar(argument)) {
    return scalar->toDouble();
  }
  refuse(type, kind_of(argument));
}

const Argument::List& as_list(const Argument& argument, const std::string& type) {
  if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
    return *list;
  }
  refuse(type, kind_of(argument));
}

at::Tensor constant_tensor(const Argument& argument) {
  if (std::holds_alternative<Argument::None>(argument.value) ||
      std::holds_alternative<Argument::Undefined>(argument.value)) {
    return {};
  }
  if (const std::optional<c10::Scalar> scalar = as_scalar(argument)) {
    return wrapped_number(*scalar);
  }
  refuse("Tensor", kind_of(argument));
}

/// `Item` is at::Tensor or std::optional<at::Tensor>.
template <typename Item>
PlannedArgument tensor_list(const Argument& argument) {
  c10::List<Item> list;
  SlotList plan;
  plan.optional = !std::is_same_v<Item, at::Tensor>;
  for (const Argument& element : as_list(argument, plan.optional ? "Tensor?[]" : "Tensor[]")) {
    const auto* slot = std::get_if<Argument::SlotRef>(&element.value);
    if (slot != nullptr) {
      plan.elements.emplace_back(static_cast<std::uint32_t>(list.size()), slot->id);
    }
    list.push_back(slot != nullptr || plan.optional ? Item() : Item(constant_tensor(element)));
  }
  if (plan.elements.empty()) {
    return IValue(std::move(list));
  }
  plan.boxed = IValue(std::move(list));
  return plan;
}

/// A single number in place of a list is repeated as often as the schema says (int[2] = 1).
Argument::List numbers(const Argument& argument, std::optional<std::int32_t> length,
                       const std::string& type) {
  if (as_scalar(argument)) {
    return Argument::List(static_cast<std::size_t>(length.value_or(1)), argument);
  }
  return as_list(argument, type);
}

IValue number_list(const Argument& argument, const c10::Type& element,
                   std::optional<std::int32_t> length) {
  const std::string type = element.str() + "[]";
  const Argument::List items = numbers(argument, length, type);
  const auto filled = [&](auto list, const auto& value_of) -> IValue {
    for (const Argument& item : items) {
      list.push_back(value_of(item));
    }
    return list;
  };
  switch (element.kind()) {
    case TypeKind::IntType:
      return filled(c10::List<std::int64_t>(),
                    [&](const Argument& item) { return as_integer(item, type); });
    case TypeKind::FloatType:
      return filled(c10::List<double>(), [&](const Argument& item) { return as_real(item, type); });
    case TypeKind::BoolType:
      return filled(c10::List<bool>(),
                    [&](const Argument& item) { return as_integer(item, type) != 0; });
    case TypeKind::NumberType:
      return filled(c10::impl::GenericList(c10::NumberType::get()), [&](const Argument& item) {
        const std::optional<c10::Scalar> scalar = as_scalar(item);
        if (!scalar) {
          refuse(type, kind_of(item));
        }
        return IValue(*scalar);
      });
    default:
      refuse(type, kind_of(argument));
  }
}

IValue string_list(const Argument& argument) {
  c10::List<std::string> list;
  for (const Argument& item : as_list(argument, "str[]")) {
    const auto* text = std::get_if<std::string>(&item.value);
    if (text == nullptr) {
      refuse("str[]", kind_of(item));
    }
    list.push_back(*text);
  }
  return list;
}

PlannedArgument plan_list(const Argument& argument, const c10::ListType& type,
                          std::optional<std::int32_t> length) {
  const TypePtr& element = type.getElementType();
  if (element->kind() == TypeKind::TensorType) {
    return tensor_list<at::Tensor>(argument);
  }
  if (element->kind() == TypeKind::OptionalType) {
    return tensor_list<std::optional<at::Tensor>>(argument);
  }
  if (element->kind() == TypeKind::StringType) {
    return string_list(argument);
  }
  return number_list(argument, *element, length);
}

IValue device_value(const Argument& argument, const BoxContext& context) {
  if (const auto* device = std::get_if<Argument::DeviceRef>(&argument.value)) {
    return map_device(device->device, context.device);
  }
  if (const auto* text = std::get_if<std::string>(&argument.value)) {
    return map_device(et_schema::parse_device(*text), context.device);
  }
  refuse("Device", kind_of(argument));
}

IValue current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

PlannedArgument plan_typed(const Argument& argument, const TypePtr& type,
                           std::optional<std::int32_t> length, const BoxContext& context) {
  if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
    return slot->id;
  }
  switch (type->kind()) {
    case TypeKind::OptionalType:
      if (std::holds_alternative<Argument::None>(argument.value) ||
          std::holds_alternative<Argument::Undefined>(argument.value)) {
        return IValue();
      }
      return plan_typed(argument, type->expectRef<c10::OptionalType>().getElementType(), length,
                        context);
    case TypeKind::TensorType:
      return IValue(constant_tensor(argument));
    case TypeKind::ListType:
      return plan_list(argument, type->expectRef<c10::ListType>(), length);
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return IValue(as_integer(argument, "int"));
    case TypeKind::FloatType:
      return IValue(as_real(argument, "float"));
    case TypeKind::BoolType:
      return IValue(as_integer(argument, "bool") != 0);
    case TypeKind::NumberType:
      if (const std::optional<c10::Scalar> scalar = as_scalar(argument)) {
        return IValue(*scalar);
      }
      refuse("Scalar", kind_of(argument));
    case TypeKind::StringType:
      if (const auto* text = std::get_if<std::string>(&argument.value)) {
        return IValue(*text);
      }
      refuse("str", kind_of(argument));
    case TypeKind::DeviceObjType:
      return device_value(argument, context);
    case TypeKind::GeneratorType:
      return IValue();  // null: the device's default generator
    case TypeKind::StreamObjType:
      return current_stream(context.device);
    default:
      refuse(type->str(), kind_of(argument));
  }
}

/// Returns the number of values of a LibTorch enumeration that a schema declares as an integer.
/// Kernels use such numbers as table indices without checking them.
std::optional<std::int64_t> enumerators(const c10::Argument& target) {
  std::string type = target.real_type()->str();
  if (type.ends_with('?')) {
    type.pop_back();
  }
  if (type == "ScalarType") {
    return static_cast<std::int64_t>(c10::ScalarType::Undefined);
  }
  if (type == "Layout") {
    return static_cast<std::int64_t>(c10::Layout::NumOptions);
  }
  if (type == "MemoryFormat") {
    return static_cast<std::int64_t>(c10::MemoryFormat::NumOptions);
  }
  return std::nullopt;
}

/// Returns the text of a default as in the schema; empty if it is not a double.
std::string default_text(const c10::Argument& target) {
  const auto& value = target.default_value();
  return value && value->isDouble() ? fmt::format("{:.17e}", value->toDouble()) : "";
}

}  // namespace

PlannedArgument plan_argument(const Argument& recorded, const c10::Argument& target,
                              const BoxContext& context) {
  const auto* real = std::get_if<double>(&recorded.value);
  if (real != nullptr) {
    if (const auto epsilon =
            et_schema::lost_epsilon(context.op, target.name(), default_text(target), *real)) {
      context.losses->add(et_schema::Loss::kLostDoubles);
      return IValue(*epsilon);
    }
  }
  // LibTorch cannot pin memory without an accelerator; the bytes are the same.
  if (target.name() == "pin_memory" && context.device.is_cpu()) {
    return IValue(false);
  }
  PlannedArgument plan = plan_typed(recorded, target.type(), target.N(), context);
  const auto* value = std::get_if<IValue>(&plan);
  if (value != nullptr && value->isInt()) {
    const std::optional<std::int64_t> most = enumerators(target);
    if (most && (value->toInt() < 0 || value->toInt() >= *most)) {
      refuse(target.real_type()->str(), fmt::format("integer {}", value->toInt()));
    }
  }
  return plan;
}

PlannedArgument plan_untyped(const Argument& recorded, const BoxContext& context) {
  if (const auto* slot = std::get_if<Argument::SlotRef>(&recorded.value)) {
    return slot->id;
  }
  if (const std::optional<c10::Scalar> scalar = as_scalar(recorded)) {
    return IValue(*scalar);
  }
  if (const auto* text = std::get_if<std::string>(&recorded.value)) {
    return IValue(*text);
  }
  if (std::holds_alternative<Argument::DeviceRef>(recorded.value)) {
    return device_value(recorded, context);
  }
  if (std::holds_alternative<Argument::Undefined>(recorded.value)) {
    return IValue(at::Tensor());
  }
  const auto* list = std::get_if<Argument::List>(&recorded.value);
  if (list == nullptr) {
    return IValue();
  }
  if (list->empty() || !as_scalar(list->front())) {
    return tensor_list<at::Tensor>(recorded);
  }
  if (std::holds_alternative<double>(list->front().value)) {
    return number_list(recorded, *c10::FloatType::get(), std::nullopt);
  }
  if (std::holds_alternative<bool>(list->front().value)) {
    return number_list(recorded, *c10::BoolType::get(), std::nullopt);
  }
  return number_list(recorded, *c10::IntType::get(), std::nullopt);
}

}  // namespace understudy::replayer
