#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/facts/operator_facts.h"

namespace understudy::et_schema {

/// The type of a built-in row's parameter that no argument binds to: the recorded results, each as
/// its dtype (-1: undefined, or no tensor), sizes and strides.
inline constexpr std::string_view kLayouts = "Layouts";

/// A parameter of a row's function, and the names of the recorded argument that binds to it.
struct MapParameter {
  std::string type;  ///< as in a schema: "Tensor?", "int", "float", "Tensor[]"; or kLayouts
  /// Names of the argument, any of which may be recorded; the first is the parameter's own.
  std::vector<std::string> names;
  [[nodiscard]] bool is_optional() const { return type.ends_with('?'); }
};

/// Describes operators of another library in terms of ATen: docs/formats.md, "Operator map".
/// Functions are TorchScript, in which "torch" is ATen.
struct MapRow {
  std::string file;                    ///< empty: a row of the built-in table
  std::size_t number = 0;              ///< index in its file, from 0
  std::vector<std::string> operators;  ///< names without overload; "*" stands for any characters
  std::vector<MapParameter> takes;
  /// Recorded arguments that the function does without, as they do not change the work; "*": all
  /// others than those that it takes.
  std::set<std::string, std::less<>> ignores;
  std::string functions;  ///< all functions of its file, in TorchScript
  std::string does;       ///< body of a function of the parameters, which may call `functions`
  std::string like;       ///< an operator of ATen whose work is about the same
  std::vector<std::string> like_tensors;  ///< parameters, in the order of that operator's arguments
  std::vector<std::string> schemas;       ///< complete schemas, for names without "*"
  std::vector<std::string> told;          ///< texts that `facts` refers to
  OperatorFacts facts;                    ///< requirements on the values of its arguments
  std::string approximate;       ///< why its time differs from the original's; empty: it does not
  bool is_of_benchmark = false;  ///< from a benchmark, not from this process's user

  // What only built-in rows say.
  std::string reported;        ///< the text of by(); if empty, by() composes one
  bool is_stub = false;        ///< does other work than the operator
  bool uses_autograd = false;  ///< differentiates what its function computes

  /// Returns "the operator map: aten::rms_norm", for reports.
  [[nodiscard]] std::string by() const;
  /// Returns its TorchScript function, `def row(…)`, after the functions that it calls.
  [[nodiscard]] std::string source() const;
  /// Returns "row 3 of the built-in operator map".
  [[nodiscard]] std::string place() const;
};

/// A recorded call, bound to the parameters of a row.
struct MappedCall {
  const MapRow* row = nullptr;
  /// Index of the recorded argument of each parameter; unset if an optional one was not recorded.
  std::vector<std::optional<std::size_t>> arguments;
  /// Returns the indices of the recorded arguments that are tensors of the operator `row->like`, in
  /// its order.
  [[nodiscard]] std::vector<std::size_t> like_arguments() const;
};

struct MapMatch {
  std::optional<MappedCall> call;
  /// Why the first row that names the operator does not fit; empty: no row names it.
  std::string why_not;
};

/// Binds a call with this recorded schema to a row. Fails if a required parameter is missing, if a
/// type does not match, or if the row neither takes nor ignores a recorded argument.
[[nodiscard]] MapMatch match_row(const MapRow& row, std::string_view schema);

struct MapFile {
  std::string path;
  std::string json;
  bool operator==(const MapFile&) const = default;
};

enum class MapPlace : std::uint8_t {
  kFirst,         ///< rows of a user's file: before all others
  kBeforeBuiltIn  ///< rows of a benchmark: after rows of files, before built-in rows
};

/// Rows in order: the first row that fits an operator is used.
class OperatorMap {
 public:
  /// Throws Error (bad input) if the text is not JSON, a key is missing or unknown, or a row
  /// neither takes nor ignores an argument of its schema.
  void add_rows(std::string_view json, const std::string& file, MapPlace place = MapPlace::kFirst);

  /// Returns the first row that fits a call with this recorded schema.
  [[nodiscard]] MapMatch find(std::string_view schema) const;
  /// Returns the first row that names an operator, with or without its overload; null if none does.
  [[nodiscard]] const MapRow* find_name(std::string_view op) const;
  /// Returns the schemas that rows state for an operator.
  [[nodiscard]] std::vector<std::string_view> schemas_of(std::string_view op) const;
  [[nodiscard]] const std::list<MapRow>& rows() const { return rows_; }
  /// Returns the files that users added, in order.
  [[nodiscard]] const std::vector<MapFile>& files() const { return files_; }

 private:
  std::vector<MapFile> files_;
  std::list<MapRow> rows_;  ///< a list: rows must not move, because `facts` refers to `told`
};

/// Returns the map of this process: the rows of files, of benchmarks, then the built-in rows.
[[nodiscard]] const OperatorMap& operator_map();

/// Adds the rows of a file. Must be called before operator_map() is used, by `main` alone. Throws
/// Error (bad input).
void use_operator_map(const std::string& file);
/// Adds the rows of a benchmark in the same way; `name` identifies them in errors.
void use_rows_of_benchmark(std::string_view json, const std::string& name);

}  // namespace understudy::et_schema
