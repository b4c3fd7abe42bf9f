#pragma once

#include "pages/html/page.h"

namespace understudy::pages {

// The files of assets/, made into a source by cmake/EmbedAssets.cmake.
extern const Asset k_page_css;
extern const Asset k_page_js;
extern const Asset k_series_js;
extern const Asset k_timeline_js;

}  // namespace understudy::pages
