#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace understudy::pages {

/// How a column's cells are read.
enum class CellKind : std::uint8_t {
  kText,
  kVerdict,  ///< a text that is coloured by what it says: SLOWER, FASTER, SAME, UNSURE, …
  kFigure,   ///< a number with about four digits: "12.35"
  kChange,   ///< the same with its sign: "+0.120"
  kRatio,    ///< "1.025"
  kShare,    ///< of 1, as "84.2 %"
  kPercent,  ///< of 1, as "99.69 %"; "100.00 %" means all
  kCount,    ///< "1,234"
  kId,       ///< "1234", a number that stands for a name: of a rank, a node, a night
  kBytes,    ///< "1.5 KiB"
};

/// Another page, beside this one: a relative address without a scheme.
struct Link {
  std::string text;
  std::string href;
};

/// The address as a page uses it: whatever it is made of, it leads to no other place and runs
/// nothing.
[[nodiscard]] std::string address_of(const Link& link);

/// What stands in a cell: nothing that is known ("–"), a text, a number of its column's kind.
using Cell = std::variant<std::monostate, std::string, double, std::uint64_t, Link>;

/// A number, or nothing where it is not known or not finite.
[[nodiscard]] Cell cell_of(const std::optional<double>& number);
[[nodiscard]] Cell cell_of(const std::optional<std::uint64_t>& number);

/// As a person reads it; page.js writes the same.
[[nodiscard]] std::string cell_text(const Cell& cell, CellKind kind);

/// So much of a kernel's name fills no screen.
inline constexpr std::size_t kNameInText = 60;

struct Column {
  std::string title;
  CellKind kind = CellKind::kText;
  std::string key = {};   ///< of the rows' objects in the page's data, below them "ratio/value"
  std::string hint = {};  ///< what it means, in a few words; of a fact its unit
  double scale = 1;       ///< of a figure of the data to the one shown: 1e-6 of ns as ms
  std::size_t most_in_text = std::numeric_limits<std::size_t>::max();  ///< bytes of a cell
  bool is_sum = false;  ///< of rows that several lists have in common (from_json.h)
};
// Columns, and facts, by what they are. Without a key the title is it.
[[nodiscard]] Column column_of(CellKind kind, std::string title, std::string key = "",
                               std::string hint = "", double scale = 1);
[[nodiscard]] inline Column figures(std::string title, std::string key = "", double scale = 1,
                                    std::string hint = "") {
  return column_of(CellKind::kFigure, std::move(title), std::move(key), std::move(hint), scale);
}
[[nodiscard]] inline Column texts(std::string title, std::string key = "", std::string hint = "") {
  return column_of(CellKind::kText, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column verdicts(std::string title, std::string key = "",
                                     std::string hint = "") {
  return column_of(CellKind::kVerdict, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column changes(std::string title, std::string key = "",
                                    std::string hint = "") {
  return column_of(CellKind::kChange, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column ratios(std::string title, std::string key = "", std::string hint = "") {
  return column_of(CellKind::kRatio, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column shares(std::string title, std::string key = "", std::string hint = "") {
  return column_of(CellKind::kShare, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column percents(std::string title, std::string key = "",
                                     std::string hint = "") {
  return column_of(CellKind::kPercent, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column counts(std::string title, std::string key = "", std::string hint = "") {
  return column_of(CellKind::kCount, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column ids(std::string title, std::string key = "", std::string hint = "") {
  return column_of(CellKind::kId, std::move(title), std::move(key), std::move(hint));
}
[[nodiscard]] inline Column byte_counts(std::string title, std::string key = "",
                                        std::string hint = "") {
  return column_of(CellKind::kBytes, std::move(title), std::move(key), std::move(hint));
}
/// The same column, of sums.
[[nodiscard]] Column summed(Column column);
/// The same column, of texts with so many bytes in a terminal.
[[nodiscard]] Column shortened(Column column, std::size_t most_in_text = kNameInText);

/// How a page draws the rows of a table.
enum class Draw : std::uint8_t {
  kDistribution,  ///< how often which value occurred, of each column; lines are medians
  kInterval,      ///< a value and its interval a row: the columns are value, low, high
  kBar,           ///< bars from zero, a bar a column
  kSeries,        ///< a line a column over the first column; the mouse and the keyboard read single
                  ///< values
};

/// A picture above a table, of some of its columns by their numbers. The first column names the
/// rows.
struct Plot {
  Draw draw = Draw::kBar;
  std::string caption = {};
  std::vector<std::size_t> columns = {};
  std::string unit = {};
  std::vector<std::size_t> bounds = {};   ///< of a series: lines that are drawn thin
  std::optional<std::size_t> words = {};  ///< of an interval its verdict; of a series its marks
  std::optional<double> reference = {};   ///< of intervals: a dashed line, 1 for ratios
  std::optional<std::array<double, 2>> band = {};  ///< of a distribution: low and high end
  bool from_zero = true;                           ///< the axis of a series starts at 0
};

/// The first column names the rows. Columns are sorted by a click or a key on their titles. Rows
/// beyond the first `shown` are reached by pages and by search; of 0 only the plots are drawn.
struct Table {
  std::string id;  ///< no other of the page has it: letters, digits, "-"
  std::string caption = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
  std::string at = {};  ///< JSON pointer to the list in the page's data that the rows are, or a
                        ///< place of several lists (from_json.h)
  std::size_t shown = 50;
  std::size_t shown_in_text = std::numeric_limits<std::size_t>::max();
  std::vector<Plot> plots = {};
};

/// The same rows, drawn alone: neither page nor text shows them as a table.
[[nodiscard]] Table drawn(Table table, Plot plot);

/// A figure or a text with its name. One whose text is empty is left out.
struct Fact {
  std::string name;
  Cell value;
  CellKind kind = CellKind::kText;
  std::string unit = {};  ///< stands behind the figure
  std::string at = {};    ///< JSON pointer to the figure in the page's data
};
using Facts = std::vector<Fact>;

/// The figure as a person reads it, with its unit.
[[nodiscard]] std::string fact_text(const Fact& fact);

}  // namespace understudy::pages
