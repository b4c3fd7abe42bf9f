#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "cli/pages/document/page.h"
#include "fleet/database/connection.h"

namespace understudy::cli {

/// Which parts of a fleet become pages.
struct SiteOptions {
  std::string fleet_name = {};  ///< as shown on the pages
  std::size_t nights = 30;      ///< number of nights, the newest
  std::size_t results = 90;     ///< number of results of each series, the newest
  std::string baseline = {};    ///< baseline platform; empty: the one with the most benchmarks
  std::string store = {};       ///< folder of the reports; empty: no pages of replays
  std::string platform = {};    ///< the only one whose series are shown; empty: all
};

/// Receives a page and its file name.
using OnPage = std::function<void(const std::string& name, const pages::Page& page)>;
/// Receives the number of pages done and of all pages.
using OnSiteProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Makes all pages of a site: index.html, a page for each job, the platforms and each platform, the
/// last nights, and the newest replay of each series if its report was kept. Returns the number of
/// pages. The same database gives the same pages.
std::size_t make_site(fleet::Connection& connection, const SiteOptions& options,
                      const OnPage& on_page, const OnSiteProgress& on_progress);

}  // namespace understudy::cli
