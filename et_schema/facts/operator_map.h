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

/// A parameter of a row's function, and the recorded argument that it is.
struct MapParameter {
  std::string type;                ///< as in a schema: "Tensor?", "int", "float", "Tensor[]"
  std::vector<std::string> names;  ///< of the argument, whichever there is; the parameter's first
  [[nodiscard]] bool is_optional() const { return type.ends_with('?'); }
};

/// What operators of another library mean, in terms of ATen's: docs/formats.md, "Operator map".
/// Functions are TorchScript, in which "torch" is ATen.
struct MapRow {
  std::string file;                    ///< empty: a row of the built-in table
  std::size_t number = 0;              ///< in its file, from 0
  std::vector<std::string> operators;  ///< names without overload; "*" stands for any characters
  std::vector<MapParameter> takes;
  std::set<std::string, std::less<>> ignores;  ///< arguments that do not change the work
  std::string functions;                       ///< of its file, in TorchScript
  std::string does;  ///< the body of a function of the parameters, which may call those
  std::string like;  ///< the operator of ATen that does about the same work
  std::vector<std::string> like_tensors;  ///< parameters, in the order of its arguments
  std::vector<std::string> schemas;       ///< whole ones, of names without "*"
  std::vector<std::string> told;          ///< the texts that `facts` shows
  OperatorFacts facts;                    ///< what its arguments have to hold
  std::string approximate;                ///< why its time is not the original's; empty: it is
  bool is_of_benchmark = false;           ///< a benchmark brought it, not this process's user

  /// "the operator map: aten::rms_norm", for reports.
  [[nodiscard]] std::string by() const;
  /// Its function in TorchScript, `def row(…)`, behind those that it calls.
  [[nodiscard]] std::string source() const;
  /// "row 3 of the built-in operator map".
  [[nodiscard]] std::string place() const;
};

/// A recorded call in the terms of a row.
struct MappedCall {
  const MapRow* row = nullptr;
  /// For each parameter the recorded argument; none where an optional one was not recorded.
  std::vector<std::optional<std::size_t>> arguments;
  /// The recorded arguments that are tensors of the operator that the row is like, in its order.
  [[nodiscard]] std::vector<std::size_t> like_arguments() const;
};

struct MapMatch {
  std::optional<MappedCall> call;
  std::string why_not;  ///< why the first row of its name does not fit; empty: no row names it
};

/// Whether the row fits a call with this recorded schema. It does where its parameters are all
/// recorded, and it takes or ignores all that is recorded.
[[nodiscard]] MapMatch match_row(const MapRow& row, std::string_view schema);

/// A file of rows.
struct MapFile {
  std::string path;
  std::string json;
  bool operator==(const MapFile&) const = default;
};

/// Where rows are put.
enum class MapPlace : std::uint8_t {
  kFirst,         ///< before all others, as those of a user's file
  kBeforeBuiltIn  ///< behind those of files, as those that a benchmark holds
};

/// Rows in order: of several that fit an operator the first counts.
class OperatorMap {
 public:
  /// Throws Error (bad input): no JSON, a key that is missing or not known, a schema whose
  /// arguments its row neither takes nor ignores.
  void add_rows(std::string_view json, const std::string& file, MapPlace place = MapPlace::kFirst);

  /// The row that fits a call with this recorded schema.
  [[nodiscard]] MapMatch find(std::string_view schema) const;
  /// The first row that names an operator, with or without its overload; null: none does.
  [[nodiscard]] const MapRow* find_name(std::string_view op) const;
  /// Schemas of an operator of which rows tell them.
  [[nodiscard]] std::vector<std::string_view> schemas_of(std::string_view op) const;
  [[nodiscard]] const std::list<MapRow>& rows() const { return rows_; }
  /// Those that users added, in order.
  [[nodiscard]] const std::vector<MapFile>& files() const { return files_; }

 private:
  std::vector<MapFile> files_;
  std::list<MapRow> rows_;  ///< their facts show texts that they own, so that they stay in place
};

/// The map of this process: the built-in rows, behind those of files that use_operator_map() added.
[[nodiscard]] const OperatorMap& operator_map();

/// To be called before anything asks for operator_map(), by `main` alone. Throws Error (bad input).
void use_operator_map(const std::string& file);
/// The same with rows that a benchmark holds; `name` is theirs in errors.
void use_rows_of_benchmark(std::string_view json, const std::string& name);

}  // namespace understudy::et_schema
