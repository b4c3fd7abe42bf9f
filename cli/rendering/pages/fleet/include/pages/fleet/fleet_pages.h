#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fleet/analysis/platforms.h"
#include "fleet/analysis/selection.h"
#include "fleet/analysis/series_changes.h"
#include "fleet/fingerprint/fingerprint.h"
#include "fleet/queue/queue.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"
#include "pages/html/page.h"

namespace understudy::pages {

// The pages of a fleet's site, a folder of files:
//
//     const Page page = fleet_page(data);
//     et_schema::write_file_atomically(folder + "/index.html", to_html(page));
//
// Texts may hold anything. A number that is not known is NaN, and shown as "–".
// Lists are shown in the order in which they are given. The same figures give
// the same bytes: nothing here looks at a clock.

/// A file's name for a page: "job" and "ads/ranker" →
/// "job-ads-ranker-1f0c9a3e.html". Different names have different files (a hash
/// of the name is in it); nothing in it can leave the folder.
[[nodiscard]] std::string page_name(const std::string& kind, const std::string& name);
[[nodiscard]] std::string job_file(const std::string& job);
[[nodiscard]] std::string night_file(std::int64_t night);
/// The page of a result's own report.
[[nodiscard]] std::string replay_file(const fleet::Result& result);

/// "team=ads, tier=1".
[[nodiscard]] std::string tags_of(const fleet::Job& job);

/// What all pages of a site have in common, and which jobs and nights have one
/// to link to.
struct SiteFrame {
  std::string fleet_name;  ///< "fleet.db"
  std::string date;        ///< of what is shown: the newest night's
  std::string tool_version;
  std::set<std::string> jobs = {};
  std::set<std::int64_t> nights = {};
};

/// One job in the list of all.
struct FleetJob {
  std::string name;
  std::string state;  ///< "ok", "broken", "drifted", "slower", "faster", "waiting", …
  double weight = 1;
  std::string tags;                                          ///< "team=ads, tier=1"
  std::string note;                                          ///< what is wrong, or has changed last
  fleet::Result newest = {};                                 ///< without a platform: none yet
  double change = std::numeric_limits<double>::quiet_NaN();  ///< against the nights before,
                                                             ///< as a ratio
};

/// A night, and what its summary and its events count.
struct FleetNight {
  fleet::Night night;
  std::uint64_t unchanged = 0;  ///< told by their content among them
  std::uint64_t generated = 0;
  std::uint64_t replayed = 0;
  std::uint64_t broken = 0;
  std::uint64_t still_broken = 0;  ///< since a night before
  std::uint64_t slower = 0;
  std::uint64_t faster = 0;
  std::uint64_t recovered = 0;  ///< as fast as before they became slower
  std::uint64_t drifted = 0;
  std::uint64_t turned = 0;    ///< series that it found to have turned in a night before
  std::uint64_t unjudged = 0;  ///< changes while the machine was not as before
  double duration_s = std::numeric_limits<double>::quiet_NaN();
};

/// One platform in the list of platforms.
struct FleetPlatform {
  std::string name;
  bool has_page = false;
  std::uint64_t benchmarks = 0;  ///< with a result
  std::uint64_t predicted = 0;   ///< of these, by prediction alone
  std::string newest;            ///< date of the newest result
};

/// index.html: the whole fleet.
struct FleetData {
  SiteFrame frame;
  std::vector<FleetNight> nights = {};    ///< newest first
  std::vector<fleet::Event> events = {};  ///< of the newest night, the weightiest first
  std::vector<FleetJob> jobs = {};
  std::vector<FleetPlatform> platforms = {};
  std::vector<fleet::Selection> subsets = {};      ///< the few that stand for all, of some sizes
  std::map<std::string, double> class_share = {};  ///< weighted, of the fleet's time
};
[[nodiscard]] Page fleet_page(const FleetData& data);

/// A benchmark on one platform, the oldest result first.
struct PlatformSeries {
  std::string platform;
  std::vector<fleet::Result> results = {};
  std::vector<fleet::SeriesChange> changes = {};
  std::string report_href = {};  ///< of the newest replay's own page, where it was kept
};

/// One benchmark: its job, its work, its history.
struct BenchmarkData {
  SiteFrame frame;
  fleet::Job job;
  fleet::Benchmark benchmark = {};  ///< without a hash: none was made yet
  fleet::Fingerprint print = {};
  std::string state = {};
  std::string failing = {};  ///< why its replay failed when it was tried last; else empty
  std::vector<PlatformSeries> platforms = {};
  std::map<std::int64_t, std::string> software = {};  ///< by environment: "torch 2.11.0, linux 6.1"
  std::vector<fleet::Event> events = {};              ///< newest first
};
[[nodiscard]] Page benchmark_page(const BenchmarkData& data);

/// platforms.html: platforms against one of them, the fastest first; outside of a site, whose frame
/// has no name, with the benchmarks of each. Its data: docs/formats.md, "fleet --format json".
[[nodiscard]] Page platforms_page(const fleet::PlatformComparison& comparison,
                                  const SiteFrame& frame);
/// One of them, all of its benchmarks. `index`: place in `platforms`.
[[nodiscard]] Page platform_page(const fleet::PlatformComparison& comparison, std::size_t index,
                                 const SiteFrame& frame);

/// One item of a night's work.
struct NightItem {
  std::string job;
  fleet::FinishedWork work;
};

/// One night.
struct NightData {
  SiteFrame frame;
  FleetNight night;
  std::string before_href = {};
  std::string after_href = {};
  std::vector<std::string> platforms = {};
  std::vector<fleet::Event> events = {};  ///< the weightiest first
  std::vector<NightItem> items = {};
};
[[nodiscard]] Page night_page(const NightData& data);

}  // namespace understudy::pages
