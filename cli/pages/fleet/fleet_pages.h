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
//     const Page page = fleet_page(document, frame);
//     et_schema::write_file_atomically(folder + "/index.html", to_html(page));
//
// What a page shows is its document, which is also its data;
// cli/fleet/site_documents.h makes them. Texts may hold anything. A number that
// is not known is NaN or null, and shown as "–". Lists are shown in the order
// in which they are given. The same document gives the same bytes: nothing here
// looks at a clock.

/// A file's name for a page: "job" and "ads/ranker" →
/// "job-ads-ranker-1f0c9a3e.html". Different names have different files (a hash
/// of the name is in it); nothing in it can leave the folder.
[[nodiscard]] std::string page_name(const std::string& kind, const std::string& name);
[[nodiscard]] std::string job_file(const std::string& job);
[[nodiscard]] std::string night_file(std::int64_t night);

/// What all pages of a site have in common, and which jobs and nights have one
/// to link to.
struct SiteFrame {
  std::string fleet_name;  ///< "fleet.db"
  std::string date;        ///< of what is shown: the newest night's
  std::string tool_version;
  std::set<std::string> jobs = {};
  std::set<std::int64_t> nights = {};
};

/// index.html: the whole fleet.
[[nodiscard]] Page fleet_page(const nlohmann::ordered_json& document, const SiteFrame& frame);
/// One benchmark: its job, its work, its history.
[[nodiscard]] Page benchmark_page(const nlohmann::ordered_json& document, const SiteFrame& frame);
/// One night.
[[nodiscard]] Page night_page(const nlohmann::ordered_json& document, const SiteFrame& frame);

/// platforms.html: platforms against one of them, the fastest first; outside of
/// a site, whose frame has no name, with the benchmarks of each. Its data:
/// docs/formats.md, "fleet --format json".
[[nodiscard]] Page platforms_page(const fleet::PlatformComparison& comparison,
                                  const SiteFrame& frame);
/// One of them, all of its benchmarks. `index`: place in `platforms`.
[[nodiscard]] Page platform_page(const fleet::PlatformComparison& comparison, std::size_t index,
                                 const SiteFrame& frame);

}  // namespace understudy::pages
