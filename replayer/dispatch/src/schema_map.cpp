#include "replayer/dispatch/schema_map.h"

#include <ATen/core/function_schema.h>
#include <c10/core/DispatchKey.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "et_schema/facts/schema_text.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;

/// Operators that were renamed and have the same arguments.
using Renamed = std::pair<std::string_view, std::string_view>;
constexpr std::array<Renamed, 2> kRenamed = {
    {{"aten::_cat", "aten::cat"}, {"aten::_s_where", "aten::where.self"}}};

std::string normal_type(std::string_view type) {
  std::string text(type);
  const std::string_view symbolic = "SymInt";
  for (std::size_t at = text.find(symbolic); at != std::string::npos; at = text.find(symbolic)) {
    text.replace(at, symbolic.size(), "int");
  }
  return text;
}

std::string type_of(const c10::Argument& argument) {
  return normal_type(argument.real_type()->str());
}

bool holds_tensor(const Argument& argument) {
  if (std::holds_alternative<Argument::SlotRef>(argument.value)) {
    return true;
  }
  const auto* list = std::get_if<Argument::List>(&argument.value);
  return list != nullptr && std::any_of(list->begin(), list->end(), holds_tensor);
}

/// Compares tensors with non-tensors only: number lists and optional marks have changed over the
/// years without an effect on callers.
bool same_kind(const std::string& recorded, const c10::Argument& today) {
  return recorded.starts_with("Tensor") == type_of(today).starts_with("Tensor");
}

std::optional<std::size_t> index_of(const RecordedSchema& recorded, const std::string& name) {
  const auto at = std::find(recorded.arguments.begin(), recorded.arguments.end(), name);
  if (at == recorded.arguments.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(at - recorded.arguments.begin());
}

bool same_names(const RecordedSchema& recorded, const std::vector<c10::Argument>& today) {
  return std::equal(recorded.arguments.begin(), recorded.arguments.end(), today.begin(),
                    today.end(), [](const std::string& name, const c10::Argument& argument) {
                      return name == argument.name();
                    });
}

bool same_kinds(const RecordedSchema& recorded, const std::vector<c10::Argument>& today) {
  return std::equal(recorded.types.begin(), recorded.types.end(), today.begin(), today.end(),
                    [](const std::string& type, const c10::Argument& argument) {
                      return same_kind(type, argument) &&
                             type.substr(0, 3) == type_of(argument).substr(0, 3);
                    });
}

MatchResult match_arguments(const c10::OperatorHandle& handle, const RecordedSchema& recorded,
                            const std::vector<Argument>& arguments) {
  const std::vector<c10::Argument>& today = handle.schema().arguments();
  OperatorMatch match{handle, {}};
  if (same_names(recorded, today) || same_kinds(recorded, today)) {
    for (std::size_t i = 0; i < today.size(); ++i) {
      match.sources.push_back(i < arguments.size() ? std::optional(i) : std::nullopt);
    }
  } else {
    std::vector<bool> used(arguments.size(), false);
    for (const c10::Argument& argument : today) {
      std::optional<std::size_t> source = index_of(recorded, argument.name());
      if (source &&
          (*source >= arguments.size() || !same_kind(recorded.types[*source], argument))) {
        source.reset();
      }
      if (source) {
        used[*source] = true;
      }
      match.sources.push_back(source);
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!used[i] && holds_tensor(arguments[i])) {
        return {std::nullopt,
                fmt::format("its recorded tensor '{}' has no place in today's schema",
                            i < recorded.arguments.size() ? recorded.arguments[i] : "?")};
      }
    }
  }
  for (std::size_t i = 0; i < today.size(); ++i) {
    if (!match.sources[i] && !today[i].default_value().has_value()) {
      return {std::nullopt,
              fmt::format("today's schema needs '{}', which was not recorded", today[i].name())};
    }
  }
  return {std::move(match), ""};
}

}  // namespace

std::optional<c10::OperatorHandle> find_operator(std::string_view name) {
  return c10::Dispatcher::singleton().findSchema(
      {std::string(et_schema::without_overload(name)), std::string(et_schema::overload_of(name))});
}

std::vector<std::string> argument_names(const c10::FunctionSchema& schema) {
  std::vector<std::string> names;
  for (const c10::Argument& argument : schema.arguments()) {
    names.push_back(argument.name());
  }
  return names;
}

RecordedSchema parse_recorded_schema(const std::string& text) {
  RecordedSchema schema;
  const std::string_view full = et_schema::operator_name(text);
  schema.name = et_schema::without_overload(full);
  schema.overload = et_schema::overload_of(full);
  for (const et_schema::SchemaArgument& argument : et_schema::arguments_of(text)) {
    schema.arguments.emplace_back(argument.name);
    schema.types.push_back(normal_type(argument.type));
  }
  return schema;
}

MatchResult match_operator(const RecordedSchema& recorded, const std::vector<Argument>& arguments) {
  const std::string full =
      recorded.overload.empty() ? recorded.name : recorded.name + "." + recorded.overload;
  const auto* const renamed = std::ranges::find(kRenamed, full, &Renamed::first);
  const std::optional<c10::OperatorHandle> exact =
      find_operator(renamed == kRenamed.end() ? full : renamed->second);
  MatchResult result{std::nullopt, "this LibTorch has no such operator"};
  if (exact) {
    result = match_arguments(*exact, recorded, arguments);
    if (result.match) {
      return result;
    }
  }
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name != recorded.name || name.overload_name == recorded.overload) {
      continue;
    }
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle) {
      continue;
    }
    MatchResult other = match_arguments(*handle, recorded, arguments);
    if (other.match) {
      return other;
    }
    if (!exact) {
      result.reason = "no overload of it takes the recorded arguments";
    }
  }
  return result;
}

bool has_kernel(const c10::OperatorHandle& handle, c10::DeviceType device) {
  using c10::DispatchKey;
  constexpr std::array kOnCpu = {DispatchKey::CPU, DispatchKey::SparseCPU, DispatchKey::MkldnnCPU,
                                 DispatchKey::QuantizedCPU, DispatchKey::SparseCsrCPU};
  constexpr std::array kOnGpu = {DispatchKey::CUDA, DispatchKey::SparseCUDA,
                                 DispatchKey::QuantizedCUDA, DispatchKey::SparseCsrCUDA,
                                 DispatchKey::CPU};
  return std::ranges::any_of(device == c10::kCPU ? kOnCpu : kOnGpu, [&](DispatchKey key) {
    return handle.hasComputedKernelForDispatchKey(key);
  });
}

}  // namespace understudy::replayer
