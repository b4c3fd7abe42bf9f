#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "pages/fleet/fleet_pages.h"

namespace understudy::pages {

using Json = nlohmann::ordered_json;

/// A number; null where it is not finite.
[[nodiscard]] Json json_of(double number);
[[nodiscard]] Json json_of(const FleetEvent& event);
[[nodiscard]] Json json_of(const FleetNight& night);
template <typename Item>
[[nodiscard]] Json json_list(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) {
    list.push_back(json_of(item));
  }
  return list;
}
/// {"page": …} and the members, as the text of a page's data.
[[nodiscard]] std::string data_text(const char* page, Json members);

/// A number that is NaN where it is not known.
[[nodiscard]] Cell number_cell(double number);
/// A link, or the text alone where there is no address; "–" for no text.
[[nodiscard]] Cell link_cell(const std::string& text, const std::string& href);
[[nodiscard]] Cell text_cell(const std::string& text);

/// Events, with or without their nights.
[[nodiscard]] Section events_section(const std::vector<FleetEvent>& events, bool has_nights);
/// Shares of time by class as bars, the largest first.
[[nodiscard]] Markup class_share_bars(const std::map<std::string, double>& shares,
                                      const std::string& caption);

/// "1 job is", "2 jobs are".
[[nodiscard]] std::string are(std::uint64_t count, const std::string& noun);

/// "7.5 % longer", "3.1 % shorter".
[[nodiscard]] std::string change_text(double ratio);

}  // namespace understudy::pages
