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

#include "et_schema/base/record.h"

namespace understudy::pages {

using et_schema::CellKind;

/// Another page of the same site: a relative address without a scheme.
struct Link {
  std::string text;
  std::string href;
};

/// Returns the address as a page uses it. Whatever the link holds, the address cannot leave the
/// site or run a script.
[[nodiscard]] std::string address_of(const Link& link);

/// Content of a cell: unknown ("–"), a text, or a number of its column's kind.
using Cell = std::variant<std::monostate, std::string, double, std::uint64_t, Link>;

/// Returns a number, or an empty cell if it is unknown or not finite.
[[nodiscard]] Cell cell_of(const std::optional<double>& number);
[[nodiscard]] Cell cell_of(const std::optional<std::uint64_t>& number);

/// Returns the cell as people read it; page.js writes the same.
[[nodiscard]] std::string cell_text(const Cell& cell, CellKind kind);

/// Maximum bytes of a kernel's name in a text.
inline constexpr std::size_t kNameInText = 60;

struct Column {
  std::string title;
  CellKind kind = CellKind::kText;
  /// key in the rows' objects of the page's data; "ratio/value" is a nested key
  std::string key = {};
  std::string hint = {};  ///< meaning in a few words; a fact's unit
  double scale = 1;       ///< factor from the data's figure to the shown one: 1e-6 shows ns as ms
  std::size_t most_in_text =
      std::numeric_limits<std::size_t>::max();  ///< maximum bytes of a cell; 0: not in a terminal
  bool is_sum = false;  ///< summed over rows that several lists have in common (from_json.h)
};
// Columns, and facts, by their kind. If `key` is empty, the title is the key.
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
/// Returns the same column with is_sum set.
[[nodiscard]] Column summed(Column column);
/// Returns the same column, whose texts are cut to `most_in_text` bytes in a terminal.
[[nodiscard]] Column shortened(Column column, std::size_t most_in_text = kNameInText);

/// How a page draws the rows of a table.
enum class Draw : std::uint8_t {
  kDistribution,  ///< histogram of each column's values; lines are medians
  kInterval,      ///< a value with its interval in each row: columns are value, low, high
  kBar,           ///< bars from zero, one for each column
  kSeries,  ///< a line for each column over the first column; mouse and keyboard read single values
  kScatter  ///< a point for each row on logarithmic axes, under `limits`: columns are x, y, area
};

/// A limit in a scatter: y = at, or if it rises, y = at times x.
struct Limit {
  std::string name;
  double at = 0;
  bool rises = false;
};

/// A plot above a table. Columns are given by their index; the first column names the rows.
struct Plot {
  Draw draw = Draw::kBar;
  std::string caption = {};
  std::vector<std::size_t> columns = {};
  std::string unit = {};
  std::vector<std::size_t> bounds = {};  ///< of a series: columns that are drawn as thin lines
  std::optional<std::size_t> words =
      {};  ///< column with an interval's verdict, a series' marks, or the colours of points
  std::optional<double> reference = {};  ///< of intervals: a dashed line, 1 for ratios
  /// of a distribution: low and high end of a band
  std::optional<std::array<double, 2>> band = {};
  bool from_zero = true;  ///< the axis of a series starts at 0
  std::vector<Limit> limits = {};
};

/// A table whose first column names the rows. A click or a key on a column's title sorts by it.
/// Rows beyond the first `shown` are reached by search, or unfolded; if `shown` is 0, only the
/// plots are drawn.
struct Table {
  std::string id;  ///< unique within the page: letters, digits, "-"
  std::string caption = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
  /// JSON pointer to the rows' list in the page's data, or a place of several lists (from_json.h)
  std::string at = {};
  std::size_t shown = 15;
  std::size_t shown_in_text = std::numeric_limits<std::size_t>::max();
  std::vector<Plot> plots = {};
};

/// Returns the same rows as a plot only: neither page nor text shows the table.
[[nodiscard]] Table drawn(Table table, Plot plot);

/// A named figure or text. A fact with an empty text is left out.
struct Fact {
  std::string name;
  Cell value;
  CellKind kind = CellKind::kText;
  std::string unit = {};  ///< shown after the figure
  std::string at = {};    ///< JSON pointer to the figure in the page's data
};
using Facts = std::vector<Fact>;

/// Returns the figure as people read it, with its unit.
[[nodiscard]] std::string fact_text(const Fact& fact);

}  // namespace understudy::pages
