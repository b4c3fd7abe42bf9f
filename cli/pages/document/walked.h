#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/interval.h"
#include "et_schema/base/record.h"

namespace understudy::pages {

/// A labelled member of a record: a figure or a text; or a list of records, which are `rows`.
struct ShownMember {
  Column column;
  std::vector<Column> rows = {};
};

/// Returns the columns of such records as rows of a table.
template <typename Row>
[[nodiscard]] std::vector<Column> columns_of();

/// Collects the members of a record that have a label (et_schema/base/record.h).
class ShownMembers : public et_schema::EachMember<ShownMembers> {
 public:
  template <typename Value, typename... How>
  void operator()(const char* key, const Value& /*member*/, const How&... how) {
    ShownMember member{{.title = "", .kind = kind_of<Value>(key), .key = key}};
    (take(member.column, how), ...);
    if (member.column.title.empty()) {
      return;
    }
    if constexpr (is_list<Value>) {
      member.rows = columns_of<typename Value::value_type>();
    }
    if constexpr (std::convertible_to<et_schema::Interval, Value>) {
      add_interval(std::move(member.column));
    } else {
      members_.push_back(std::move(member));
    }
  }
  [[nodiscard]] std::vector<ShownMember> take() { return std::move(members_); }

 private:
  template <typename Value>
  static constexpr bool is_list = requires(Value list, ShownMembers& walk) {
    members(walk, list.emplace_back());
  };
  template <typename Value>
  static CellKind kind_of(std::string_view key) {
    if constexpr (requires(Value value) {
                    *value;
                    typename Value::value_type;
                  }) {
      return kind_of<typename Value::value_type>(key);
    }
    return !std::is_arithmetic_v<Value>      ? CellKind::kText
           : key.ends_with("bytes")          ? CellKind::kBytes
           : std::is_floating_point_v<Value> ? CellKind::kFigure
                                             : CellKind::kCount;
  }
  /// Adds the value and, if the label has a meaning, the interval's ends.
  void add_interval(Column column);

  static void take(Column& column, const et_schema::Label auto& text) {
    (column.title.empty() ? column.title : column.hint) = text;
  }
  static void take(Column& column, const CellKind& kind) { column.kind = kind; }
  static void take(Column& /*column*/, const auto& /*of_files_or_ranks*/) {}

  std::vector<ShownMember> members_;
};

template <typename Record>
[[nodiscard]] std::vector<ShownMember> shown_members() {
  ShownMembers walk;
  const Record record{};
  members(walk, record);
  return walk.take();
}

/// Returns the figures and texts of the record at `at` as facts, with the units that their keys, or
/// the record's, end with; then a table for each of its lists. Facts come first, none if the data
/// omits the record.
[[nodiscard]] std::vector<Block> blocks_at(const nlohmann::ordered_json& data,
                                           const std::string& at,
                                           const std::vector<ShownMember>& members);
template <typename Record>
[[nodiscard]] std::vector<Block> blocks_at(const nlohmann::ordered_json& data,
                                           const std::string& at) {
  return blocks_at(data, at, shown_members<Record>());
}

template <typename Row>
std::vector<Column> columns_of() {
  std::vector<Column> columns;
  for (ShownMember& member : shown_members<Row>()) {
    columns.push_back(std::move(member.column));
  }
  return columns;
}

/// Returns the table without columns that no row has a value in.
[[nodiscard]] Table without_unknown(Table table);

}  // namespace understudy::pages
