#include "cli/pages/document/from_json.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "cli/common/output.h"
#include "et_schema/model/losses.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

/// An element of a list. `around`: the element of an outer list that holds this list; null if there
/// is no outer list.
struct Row {
  const Json* element = nullptr;
  const Json* around = nullptr;
};

/// Collects the rows at a place, which table_at() describes.
class Rows {
 public:
  Rows(const Json& data, const std::string& at) {
    const std::size_t star = at.find("/*");
    if (star == std::string::npos) {
      add(data, at, nullptr);
      return;
    }
    for (const Json& around : data.at(Json::json_pointer(at.substr(0, star)))) {
      ++lists_;
      add(around, at.substr(star + 2), &around);
    }
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::size_t lists() const { return lists_; }

 private:
  void add(const Json& data, const std::string& at, const Json* around) {
    const Json::json_pointer place(at);
    if (!data.contains(place)) {
      return;
    }
    const Json& list = data.at(place);
    for (const auto& [key, value] : list.items()) {
      const bool is_row = list.is_array() && value.is_object();
      rows_.push_back(
          {is_row ? &value : &made_.emplace_back(Json{{"name", key}, {"value", value}}), around});
    }
  }

  std::deque<Json> made_;
  std::vector<Row> rows_;
  std::size_t lists_ = 0;
};

const Json* find(const Row& row, const Column& column) {
  const Json::json_pointer at("/" + column.key);
  for (const Json* const object : {row.element, row.around}) {
    if (!column.key.empty() && object != nullptr && object->contains(at)) {
      return &object->at(at);
    }
  }
  return nullptr;
}

Cell cell_at(const Row& row, const Column& column) {
  const Json* const value = find(row, column);
  if (value == nullptr) {
    return {};
  }
  return column.scale == 1 || !value->is_number()
             ? cell_of(*value)
             : cell_of(std::optional(value->get<double>() * column.scale));
}

void add(Cell& sum, const Cell& more) {
  if (const auto* const count = std::get_if<std::uint64_t>(&sum);
      count != nullptr && std::holds_alternative<std::uint64_t>(more)) {
    sum = *count + std::get<std::uint64_t>(more);
  } else if (const auto* const number = std::get_if<double>(&sum);
             number != nullptr && std::holds_alternative<double>(more)) {
    sum = *number + std::get<double>(more);
  } else if (std::holds_alternative<std::monostate>(sum)) {
    sum = more;
  }
}

/// Merges rows that several lists, or ranks, have in common.
class Joined {
 public:
  explicit Joined(const std::vector<Column>& columns)
      : columns_(columns),
        rank_(static_cast<std::size_t>(std::ranges::find(columns, "rank", &Column::key) -
                                       columns.begin())) {}

  [[nodiscard]] bool is_of_ranks() const { return rank_ < columns_.size(); }

  void add(std::vector<Cell> row) {
    std::uint64_t rank = 0;
    if (rank_ < row.size()) {
      const auto* const number = std::get_if<std::uint64_t>(&row[rank_]);
      rank = number == nullptr ? 0 : *number;
      row[rank_] = Cell();
    }
    std::string key;
    for (std::size_t i = 0; i < row.size(); ++i) {
      key += columns_[i].is_sum ? "" : cell_text(row[i], columns_[i].kind) + '\n';
    }
    if (rank_ < row.size()) {  // a rank can have several rows with one key
      key += std::to_string(again_[{key, rank}]++);
    }
    const auto [found, is_new] = places_.try_emplace(key, rows_.size());
    if (is_new) {
      rows_.push_back(std::move(row));
      ranks_.emplace_back();
    } else {
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (columns_[i].is_sum) {
          pages::add(rows_[found->second][i], row[i]);
        }
      }
    }
    ranks_[found->second].push_back(rank);
  }

  /// `lists`: number of lists; 0: each row is a rank.
  void finish(Table& table, std::size_t lists) {
    const auto is_one = [](const auto& ranks) { return ranks.size() == 1; };
    if (rank_ < columns_.size() && lists == 1) {
      table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(rank_));
      for (std::vector<Cell>& row : rows_) {
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(rank_));
      }
    } else if (lists == 0 && std::ranges::all_of(ranks_, is_one)) {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        rows_[i][rank_] = ranks_[i].front();
      }
    } else if (rank_ < columns_.size()) {
      table.columns[rank_].kind = CellKind::kText;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        rows_[i][rank_] = ranks_[i].size() == lists ? std::string("all") : ranges_of(ranks_[i]);
      }
    }
    if (lists > 1 && std::ranges::any_of(columns_, &Column::is_sum)) {
      table.caption += ", sums over all";
    }
    table.rows = std::move(rows_);
  }

 private:
  std::vector<Column> columns_;
  std::size_t rank_;
  std::map<std::string, std::size_t> places_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> again_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::vector<std::uint64_t>> ranks_;
};

/// Returns "ranks-opened-table" for "/ranks/*/opened".
std::string id_of(const std::string& at) {
  std::string id;
  for (const char character : at) {
    if (character == '/' || character == '_') {
      id += id.empty() || id.ends_with('-') ? "" : "-";
    } else if (character != '*') {
      id += character;
    }
  }
  return id + (id.empty() ? "table" : "-table");
}

}  // namespace

std::string ranges_of(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (end - i > 1) {
      text += (end - i == 2 ? ", " : "–") + std::to_string(numbers[end - 1]);
    }
    i = end;
  }
  return text;
}

std::string text_in(const Json& object, const char* key) {
  return object.at(key).get<std::string>();
}

std::uint64_t count_in(const Json& object, const char* key) {
  // Not get(), which would cast any number: a double may be beyond all integers.
  return static_cast<std::uint64_t>(object.at(key).get_ref<const Json::number_integer_t&>());
}

double number_in(const Json& object, const char* key) {
  const Json& number = object.at(key);
  return number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>();
}

Cell cell_of(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.empty() ? Cell() : Cell(text);
  }
  if (value.is_structured()) {
    std::string list;
    for (const auto& [key, item] : value.items()) {
      list += (list.empty() ? "" : ", ") + (value.is_object() ? key + "=" : "") +
              cell_text(cell_of(item), CellKind::kId);
    }
    return list.empty() ? Cell() : Cell(list);
  }
  if (value.is_boolean()) {
    return std::string(value.get<bool>() ? "yes" : "no");
  }
  if (value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0)) {
    return value.get<std::uint64_t>();
  }
  return value.is_number() ? cell_of(std::optional(value.get<double>())) : Cell();
}

Fact fact_at(const Json& data, const std::string& at, std::string name, CellKind kind,
             std::string unit) {
  const Json::json_pointer place(at);
  return {std::move(name), data.contains(place) ? cell_of(data.at(place)) : Cell(), kind,
          std::move(unit), at};
}

Facts facts_at(const Json& data, const std::string& at, const std::vector<Column>& columns) {
  Facts facts;
  for (const Column& column : columns) {
    facts.push_back(fact_at(data, at + "/" + column.key, column.title, column.kind, column.hint));
  }
  return facts;
}

Table table_at(const Json& data, std::string at, std::string caption, std::vector<Column> columns,
               std::size_t shown_in_text) {
  Table table{.id = id_of(at),
              .caption = std::move(caption),
              .columns = std::move(columns),
              .at = std::move(at),
              .shown_in_text = shown_in_text};
  const Rows found(data, table.at);
  Joined joined(table.columns);
  const bool merges = found.lists() > 0 || joined.is_of_ranks();
  for (const Row& row : found.rows()) {
    std::vector<Cell> cells;
    for (const Column& column : table.columns) {
      cells.push_back(cell_at(row, column));
    }
    if (merges) {
      joined.add(std::move(cells));
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  if (merges) {
    joined.finish(table, found.lists());
  }
  return table;
}

Table losses_at(const Json& data, const std::string& at) {
  Table table = table_at(
      data, at, "Losses: what was lost, assumed or repaired on the way from the trace",
      {texts("loss", "name"), summed(counts("count", "value")), {"severity"}, {"meaning"}});
  for (std::vector<Cell>& row : table.rows) {
    if (const auto loss = et_schema::loss_from_string(std::get<std::string>(row.front()))) {
      const et_schema::LossInfo& info = et_schema::info(*loss);
      row[2] = std::string(to_string(info.severity));
      row[3] = std::string(info.meaning);
    }
  }
  return table;
}

Table device_time_table(const nlohmann::ordered_json& data, const std::string& at,
                        const char* fate_title) {
  return table_at(data, at, "Device time of the original's step by class of kernel",
                  {texts("class"), texts(fate_title, "fate"), figures("ms"), shares("share")});
}

void set_data(Page& page, const Json& data, std::string name, int indent) {
  page.data = data.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
  page.data_name = std::move(name);
}

Page made_by(const std::string& program, Page page, const Json& data, std::string name,
             int indent) {
  set_data(page, data, std::move(name), indent);
  page.footer = "Made by Understudy's " + program + ".";
  return page;
}

void show(const Page& page, cli::Format format, bool is_quiet) {
  if (!is_quiet || format != cli::Format::kText) {
    cli::print_output(written(page, format));
  }
}

}  // namespace understudy::pages
