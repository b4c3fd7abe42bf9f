#pragma once

#include <string>
#include <utility>

#include "cli/pages/html/markup.h"
#include "cli/pages/html/page.h"

namespace understudy::pages {

/// The one way around escaping: for what is HTML already, of our own making.
struct Unescaped {
  [[nodiscard]] static Markup html(std::string html) { return Markup(std::move(html)); }
};

// The files of assets/, made into a source by cmake/EmbedAssets.cmake.
extern const Asset k_page_css;
extern const Asset k_page_js;
extern const Asset k_series_js;
extern const Asset k_timeline_js;

}  // namespace understudy::pages
