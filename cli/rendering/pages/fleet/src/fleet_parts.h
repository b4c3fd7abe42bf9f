#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "pages/fleet/fleet_pages.h"
#include "pages/html/from_json.h"

namespace understudy::pages {

using Json = nlohmann::ordered_json;

/// A number; null where it is not finite.
[[nodiscard]] Json json_of(double number);
[[nodiscard]] Json json_of(const FleetNight& night);
template <typename Item>
[[nodiscard]] Json json_list(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) {
    list.push_back(json_of(item));
  }
  return list;
}
/// `with_nights`: with the night of each; on the page of a night they are all
/// of it.
[[nodiscard]] Json events_json(const std::vector<fleet::Event>& events, bool with_nights);

/// A number that is NaN where it is not known.
[[nodiscard]] Cell number_cell(double number);
/// A link, or the text alone where there is no address; "–" for no text.
[[nodiscard]] Cell link_cell(const std::string& text, const std::string& href);
[[nodiscard]] Cell text_cell(const std::string& text);

/// The data's events, with or without their nights.
[[nodiscard]] Section events_section(const SiteFrame& frame, const Json& data, bool has_nights);
/// Makes links of the texts of the column with that key: to jobs' or nights' pages, as far as they
/// have one.
void link_jobs(Table& table, const SiteFrame& frame, const std::string& key);
void link_nights(Table& table, const SiteFrame& frame, const std::string& key);
[[nodiscard]] Cell night_cell(const SiteFrame& frame, std::int64_t night);
/// A page with what all have: the way up, and what made it.
[[nodiscard]] Page framed(const SiteFrame& frame, bool is_index = false);

/// "prediction" or "replay".
[[nodiscard]] std::string source_text(bool is_predicted);
/// Shares of time by class as bars, the largest first.
[[nodiscard]] Markup class_share_bars(const std::map<std::string, double>& shares,
                                      const std::string& caption);

/// "1 job is", "2 jobs are".
[[nodiscard]] std::string are(std::uint64_t count, const std::string& noun);

/// "7.5 % longer", "3.1 % shorter".
[[nodiscard]] std::string change_text(double ratio);

}  // namespace understudy::pages
