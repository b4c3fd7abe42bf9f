#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"

namespace understudy::pages {

// Facts and rows taken from the JSON that is the page's data: so each knows its place there, and
// text, page, csv and JSON hold the same figures.

/// A list of values as "a, b", an object of them as "name=a, other=b".
[[nodiscard]] Cell cell_of(const nlohmann::ordered_json& value);

/// The figure at `at`, a JSON pointer to something in `data`; of a figure that is absent or null
/// the value is nothing.
[[nodiscard]] Fact fact_at(const nlohmann::ordered_json& data, const std::string& at,
                           std::string name, CellKind kind, std::string unit = "");

/// Figures of the object at `at` ("": of `data` itself), a fact for each column.
[[nodiscard]] Facts facts_at(const nlohmann::ordered_json& data, const std::string& at,
                             const std::vector<Column>& columns);

/// A table with a row for each element of the list at `at`, by the columns' keys. A cell whose key
/// the element lacks is empty. An element that is no object, and a member of an object of values,
/// has the keys `name` and `value`. The place may lead through a list: "/ranks/*/opened" has the
/// rows of all ranks, which also take the keys of the rank itself. Rows that differ in nothing but
/// `rank` and in summed columns are told once, as of "0–3, 5" or "all" and with the sums; where
/// there is one rank alone, its column is left out. The table's id is its place:
/// "ranks-opened-table".
[[nodiscard]] Table table_at(const nlohmann::ordered_json& data, std::string at,
                             std::string caption, std::vector<Column> columns,
                             std::size_t shown_in_text = std::numeric_limits<std::size_t>::max());

/// Counters of losses by name at a place as above, summed, with their severity and meaning.
[[nodiscard]] Table losses_at(const nlohmann::ordered_json& data, const std::string& at);

/// Device time by class of kernel and what that time is, {class, fate, ms, share}
/// (et_schema/model/device_time.h).
[[nodiscard]] Table device_time_table(const nlohmann::ordered_json& data, const std::string& at,
                                      const char* fate_title);

/// `data` as the page's own, in lines of `indent` blanks (-1: one line), offered as `name`.
void set_data(Page& page, const nlohmann::ordered_json& data, std::string name, int indent = -1);

/// The same of a page that `program` has made, which its footer says.
[[nodiscard]] Page made_by(const std::string& program, Page page,
                           const nlohmann::ordered_json& data, std::string name, int indent = -1);

/// Prints the page; with `is_quiet` its data alone, where that was asked for.
void show(const Page& page, cli::Format format, bool is_quiet = false);

}  // namespace understudy::pages
