#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/document/from_json.h"
#include "cli/pages/fleet/fleet_pages.h"

namespace understudy::pages {

using Json = nlohmann::ordered_json;

/// Returns a link, or only the text if `href` is empty; "–" for an empty text.
[[nodiscard]] Cell link_cell(const std::string& text, const std::string& href);

/// Returns the document's events, with or without their nights.
[[nodiscard]] Section events_section(const SiteFrame& frame, const Json& document, bool has_nights);
/// Turns the texts of the column with that key into links to the pages of jobs or nights, if those
/// exist.
void link_jobs(Table& table, const SiteFrame& frame, const std::string& key);
void link_nights(Table& table, const SiteFrame& frame, const std::string& key);
/// Returns a page with the common parts: the links up, and the tool.
[[nodiscard]] Page framed(const SiteFrame& frame, bool is_index = false);

/// Returns the document's shares of time by class as bars, largest first.
[[nodiscard]] Table class_share_bars(const Json& document, const std::string& caption);

/// Returns "7.5 % longer", "3.1 % shorter".
[[nodiscard]] std::string change_text(double ratio);

}  // namespace understudy::pages
