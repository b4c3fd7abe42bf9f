#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"

namespace understudy::pages {

// Facts and rows are read from the JSON that is the page's data. Each records its place there, so
// that text, page, csv and JSON hold the same figures.

/// Return members of an object. A key that is missing, or of another type, throws nlohmann's
/// exception.
[[nodiscard]] std::string text_in(const nlohmann::ordered_json& object, const char* key);
[[nodiscard]] std::uint64_t count_in(const nlohmann::ordered_json& object, const char* key);
/// Returns NaN for null.
[[nodiscard]] double number_in(const nlohmann::ordered_json& object, const char* key);

/// Returns a list of values as "a, b", an object of values as "name=a, other=b".
[[nodiscard]] Cell cell_of(const nlohmann::ordered_json& value);

/// Returns "0–3, 5" for increasing numbers.
[[nodiscard]] std::string ranges_of(const std::vector<std::uint64_t>& numbers);

/// Returns the figure at `at`, a JSON pointer into `data`. If the figure is absent or null, its
/// value is empty.
[[nodiscard]] Fact fact_at(const nlohmann::ordered_json& data, const std::string& at,
                           std::string name, CellKind kind, std::string unit = "");

/// Returns the figures of the object at `at` ("": `data` itself), one fact for each column.
[[nodiscard]] Facts facts_at(const nlohmann::ordered_json& data, const std::string& at,
                             const std::vector<Column>& columns);

/// Returns a table with a row for each element of the list at `at`. Columns select values by their
/// keys; a cell is empty if the element lacks the key. Elements that are not objects, and members
/// of an object of values, have the keys `name` and `value`. The place may pass through a list:
/// "/ranks/*/opened" has the rows of all ranks, which can also use the keys of their rank. Rows
/// that differ only in `rank` and in summed columns are merged into one, with ranks "0–3, 5" or
/// "all" and the sums. If there is only one rank, its column is omitted. The table's id is derived
/// from the place: "ranks-opened-table".
[[nodiscard]] Table table_at(const nlohmann::ordered_json& data, std::string at,
                             std::string caption, std::vector<Column> columns,
                             std::size_t shown_in_text = std::numeric_limits<std::size_t>::max());

/// Returns the sums of losses by name, with their severity and meaning. `at`: a place as in
/// table_at().
[[nodiscard]] Table losses_at(const nlohmann::ordered_json& data, const std::string& at);

/// Returns the device time by class of kernel and fate, {class, fate, ms, share}
/// (et_schema/model/device_time.h).
[[nodiscard]] Table device_time_table(const nlohmann::ordered_json& data, const std::string& at,
                                      const char* fate_title);

/// Sets the page's data and the name that it is offered as. `indent`: blanks per level; -1: one
/// line.
void set_data(Page& page, const nlohmann::ordered_json& data, std::string name, int indent = -1);

/// Does the same, and adds to the footer that `program` made the page.
[[nodiscard]] Page made_by(const std::string& program, Page page,
                           const nlohmann::ordered_json& data, std::string name, int indent = -1);

/// Prints the page in this format. With `is_quiet` prints nothing as text.
void show(const Page& page, cli::Format format, bool is_quiet = false);

}  // namespace understudy::pages
