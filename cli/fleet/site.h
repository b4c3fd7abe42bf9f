#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "cli/pages/document/page.h"
#include "fleet/database/connection.h"

namespace understudy::cli {

/// What of a fleet becomes pages.
struct SiteOptions {
  std::string fleet_name;    ///< as it is shown
  std::size_t nights = 30;   ///< the last nights
  std::size_t results = 90;  ///< the newest of each series
  std::string baseline;      ///< of the platforms; empty: the one with the most benchmarks
  std::string store;         ///< folder that reports are read from; empty: no pages of replays
};

/// Takes a page and the name of its file.
using OnPage = std::function<void(const std::string& name, const pages::Page& page)>;
/// How far it is: pages done, pages in all.
using OnSiteProgress = std::function<void(std::size_t done, std::size_t total)>;

/// All pages of a site: index.html, a page a job, the platforms, a page a platform, the last
/// nights, and the newest replay of each series as far as its report was kept. How many. The same
/// database gives the same pages.
std::size_t make_site(fleet::Connection& connection, const SiteOptions& options,
                      const OnPage& on_page, const OnSiteProgress& on_progress);

}  // namespace understudy::cli
