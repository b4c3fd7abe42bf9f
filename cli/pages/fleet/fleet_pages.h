#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/pages/document/page.h"
#include "fleet/analysis/platforms.h"

namespace understudy::pages {

// The pages of a fleet's site, a folder of files:
//
//     const Page page = fleet_page(document, frame, verdict);
//     et_schema::write_file_atomically(folder + "/index.html", to_html(page));
//
// A page shows its document, which is also its data; fleet/understudy_fleet/documents.py makes the
// documents, of a database that somebody else may have written. So texts may hold anything, and
// where a document lacks a key, these functions throw nlohmann's exceptions. An unknown number is
// NaN or null and is shown as "–". Lists keep their order. Equal documents give equal bytes:
// nothing here reads a clock.

/// Returns a page's file name: "job" and "ads/ranker" give "job-ads-ranker-1f0c9a3e.html".
/// Different names get different files, since the file name contains a hash. The name cannot leave
/// the folder.
[[nodiscard]] std::string page_name(const std::string& kind, const std::string& name);
[[nodiscard]] std::string job_file(const std::string& job);
[[nodiscard]] std::string night_file(const std::string& night);

/// Common parts of a site's pages, and the jobs and nights that have a page to link to.
struct SiteFrame {
  std::string fleet_name;  ///< "fleet.db"
  std::string date;        ///< date of the newest night
  std::string tool_version;
  std::set<std::string> jobs = {};
  std::set<std::string> nights = {};  ///< their numbers
};

/// Returns index.html: the whole fleet. `verdict`: the newest night's.
[[nodiscard]] Page fleet_page(const nlohmann::ordered_json& document, const SiteFrame& frame,
                              et_schema::Assessment verdict);
/// Returns the page of the nights, which is none of a site.
[[nodiscard]] Page nights_page(const nlohmann::ordered_json& document);
/// Returns the page of a benchmark: its job, its work, its history.
[[nodiscard]] Page benchmark_page(const nlohmann::ordered_json& document, const SiteFrame& frame);
/// Returns the page as one of a site: with the link up, and links to the pages of jobs.
[[nodiscard]] Page within_site(Page page, const SiteFrame& frame);

/// Returns platforms.html: platforms compared with one of them, fastest first. Outside of a site (a
/// frame without a name) also each platform's benchmarks. Its data: docs/formats.md, "fleet
/// --format json".
[[nodiscard]] Page platforms_page(const fleet::PlatformComparison& comparison,
                                  const SiteFrame& frame);
/// Returns the page of one platform with all of its benchmarks. `index`: index in `platforms`.
[[nodiscard]] Page platform_page(const fleet::PlatformComparison& comparison, std::size_t index,
                                 const SiteFrame& frame);

}  // namespace understudy::pages
