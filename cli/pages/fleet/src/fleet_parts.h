#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/document/from_json.h"
#include "cli/pages/fleet/fleet_pages.h"

namespace understudy::pages {

using Json = nlohmann::ordered_json;

[[nodiscard]] std::string text_in(const Json& object, const char* key);
[[nodiscard]] std::uint64_t count_in(const Json& object, const char* key);
/// NaN where it is not known.
[[nodiscard]] double number_in(const Json& object, const char* key);

/// A link, or the text alone where there is no address; "–" for no text.
[[nodiscard]] Cell link_cell(const std::string& text, const std::string& href);

/// The document's events, with or without their nights.
[[nodiscard]] Section events_section(const SiteFrame& frame, const Json& document, bool has_nights);
/// Makes links of the texts of the column with that key: to jobs' or nights'
/// pages, as far as they have one.
void link_jobs(Table& table, const SiteFrame& frame, const std::string& key);
void link_nights(Table& table, const SiteFrame& frame, const std::string& key);
/// A page with what all have: the way up, and what made it.
[[nodiscard]] Page framed(const SiteFrame& frame, bool is_index = false);

/// The document's shares of time by class as bars, the largest first.
[[nodiscard]] Table class_share_bars(const Json& document, const std::string& caption);

/// "7.5 % longer", "3.1 % shorter".
[[nodiscard]] std::string change_text(double ratio);

}  // namespace understudy::pages
