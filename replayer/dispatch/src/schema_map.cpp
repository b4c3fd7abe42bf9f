#include "replayer/dispatch/schema_map.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <c10/core/DispatchKey.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "et_schema/model/schema_text.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;

/// Operators that were given another name, with the same arguments.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRenamed = {
    {{"aten::_cat", "aten::cat"}, {"aten::_s_where", "aten::where.self"}}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

/// The pieces between top-level commas of an argument list, up to its closing parenthesis.
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  char quote = '\0';
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ')';
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if ((c == ')' || c == ']') && depth > 0) {
      --depth;
    } else if ((c == ',' || c == ')') && depth == 0) {
      const std::string_view piece = trim(text.substr(begin, i - begin));
      if (!piece.empty() && piece != "*") {
        pieces.push_back(piece);
      }
      begin = i + 1;
      if (c == ')') {
        break;
      }
    }
  }
  return pieces;
}

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

/// The two kinds of number lists and optional marks that changed over the years without a change in
/// what a caller gives.
bool same_kind(const std::string& recorded, const c10::Argument& today) {
  const bool recorded_tensor = recorded.rfind("Tensor", 0) == 0;
  const bool today_tensor = type_of(today).rfind("Tensor", 0) == 0;
  return recorded_tensor == today_tensor;
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

std::optional<c10::OperatorHandle> find_schema(const std::string& name,
                                               const std::string& overload) {
  const std::string full = overload.empty() ? name : name + "." + overload;
  for (const auto& [old_name, new_name] : kRenamed) {
    if (full == old_name) {
      return c10::Dispatcher::singleton().findSchema(
          {std::string(et_schema::without_overload(new_name)),
           std::string(et_schema::overload_of(new_name))});
    }
  }
  return c10::Dispatcher::singleton().findSchema({name, overload});
}

}  // namespace

RecordedSchema parse_recorded_schema(const std::string& text) {
  RecordedSchema schema;
  const std::size_t open = text.find('(');
  const std::string_view full = trim(std::string_view(text).substr(0, open));
  schema.name = et_schema::without_overload(full);
  schema.overload = et_schema::overload_of(full);
  if (open == std::string::npos) {
    return schema;
  }
  for (std::string_view piece : split_arguments(std::string_view(text).substr(open + 1))) {
    piece = trim(piece.substr(0, piece.find('=')));
    const std::size_t blank = piece.rfind(' ');
    if (blank == std::string_view::npos) {
      schema.arguments.emplace_back();
      schema.types.push_back(normal_type(piece));
    } else {
      schema.arguments.emplace_back(piece.substr(blank + 1));
      schema.types.push_back(normal_type(trim(piece.substr(0, blank))));
    }
  }
  return schema;
}

MatchResult match_operator(const RecordedSchema& recorded, const std::vector<Argument>& arguments) {
  const std::optional<c10::OperatorHandle> exact = find_schema(recorded.name, recorded.overload);
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
  if (device == c10::kCPU) {
    const std::array keys = {DispatchKey::CPU, DispatchKey::SparseCPU, DispatchKey::MkldnnCPU,
                             DispatchKey::QuantizedCPU, DispatchKey::SparseCsrCPU};
    return std::any_of(keys.begin(), keys.end(), [&](DispatchKey key) {
      return handle.hasComputedKernelForDispatchKey(key);
    });
  }
  const std::array keys = {DispatchKey::CUDA, DispatchKey::SparseCUDA, DispatchKey::QuantizedCUDA,
                           DispatchKey::SparseCsrCUDA, DispatchKey::CPU};
  return std::any_of(keys.begin(), keys.end(),
                     [&](DispatchKey key) { return handle.hasComputedKernelForDispatchKey(key); });
}

}  // namespace understudy::replayer
