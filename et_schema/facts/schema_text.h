#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// "aten::add.Tensor(Tensor self, …) -> Tensor" → "aten::add.Tensor".
[[nodiscard]] std::string_view operator_name(std::string_view schema);

/// "aten::add.Tensor" → "aten::add". Returns a name without a namespace unchanged: it is not the
/// name of an operator.
[[nodiscard]] constexpr std::string_view without_overload(std::string_view name) {
  const std::size_t space = name.find("::");
  return space == std::string_view::npos ? name : name.substr(0, name.find('.', space));
}

/// "aten::add.Tensor" → "Tensor"; empty if there is no overload.
[[nodiscard]] constexpr std::string_view overload_of(std::string_view name) {
  const std::size_t rest = without_overload(name).size();
  return name.substr(rest < name.size() ? rest + 1 : rest);
}

/// "aten::add.Tensor" → "add".
[[nodiscard]] constexpr std::string_view without_namespace(std::string_view name) {
  const std::size_t space = name.find("::");
  name = without_overload(name);
  return space == std::string_view::npos ? name : name.substr(space + 2);
}

/// "aten::add_.Tensor" → "add".
[[nodiscard]] constexpr std::string_view base_name(std::string_view op) {
  op = without_namespace(op);
  return op.size() > 1 && op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
}

/// One argument of a schema: "int[1]? dim=None" → "int[1]?", "dim", "None".
struct SchemaArgument {
  std::string_view type;           ///< with its alias mark: "Tensor(a!)"
  std::string_view name;           ///< empty if the schema has no name
  std::string_view default_value;  ///< its text; empty: none
};
/// The type of an argument: "SymInt[2]?" → base "int", a list, optional. Symbolic numbers count as
/// numbers.
struct SchemaType {
  std::string_view base;  ///< "Tensor", "int", …
  bool is_list = false;
  bool is_optional = false;
  bool has_optional_items = false;  ///< "Tensor?[]"
  bool has_lists = false;           ///< "Tensor[][]"
};
[[nodiscard]] SchemaType type_of(std::string_view type);

/// Returns the arguments in order. Parses tolerantly and skips a bare "*".
[[nodiscard]] std::vector<SchemaArgument> arguments_of(std::string_view schema);
/// Returns the text behind the arrow: "Tensor(a!)", "(Tensor output, Tensor total_weight)".
[[nodiscard]] std::string_view returns_of(std::string_view schema);

/// Returns the schema as it was written. LibTorch prints the unnamed alias mark of "Tensor! out" as
/// "Tensor($0! -> ) out", which it cannot parse. Throws Error (bad input) if the schema has so many
/// brackets that LibTorch's recursive parser would overflow its stack.
[[nodiscard]] std::string readable_schema(std::string_view schema);

/// Returns the names of the schema's arguments in order. Parses tolerantly:
/// "aten::sum.dim_IntList(Tensor self, int[1]? dim, *, ScalarType? dtype=None)" → self, dim, dtype.
[[nodiscard]] std::vector<std::string_view> argument_names(std::string_view schema);

/// Returns true if the schema says that the argument at `index` is written: "Tensor(a!) self".
[[nodiscard]] bool argument_is_written(std::string_view schema, std::size_t index);

/// Returns the index of the argument with this name; -1 if there is none.
[[nodiscard]] int argument_index(std::string_view schema, std::string_view name);

}  // namespace understudy::et_schema
