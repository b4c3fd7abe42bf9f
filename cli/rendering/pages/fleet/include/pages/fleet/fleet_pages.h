#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pages/html/page.h"

namespace understudy::pages {

// The pages of a fleet, from plain figures: whoever has a database fills these in. A site is a
// folder of files:
//
//     const Page page = fleet_page(data);
//     et_schema::write_file_atomically(folder + "/index.html", to_html(page));
//
// Texts may hold anything. `href`s are relative addresses inside of the site, as page_name() makes
// them; empty: no link. A number that is not known is absent or NaN, and shown as "–". Lists are
// shown in the order in which they are given. The same figures give the same bytes: nothing here
// looks at a clock.

/// A file's name for a page: "job" and "ads/ranker" → "job-ads-ranker-1f0c9a3e.html". Different
/// names have different files (a hash of the name is in it); nothing in it can leave the folder.
[[nodiscard]] std::string page_name(const std::string& kind, const std::string& name);

/// Something that happened to a job or a benchmark.
struct FleetEvent {
  std::string night;  ///< "12, 2026-01-31"; empty on the page of that night
  std::string night_href;
  std::string kind;  ///< "slower", "faster", "broken", "drifted", "changed", "change point"
  std::string job;
  std::string job_href;
  std::string platform;  ///< empty: of the job alone
  std::string text;      ///< a sentence
};

/// A time and its 95 % interval.
struct TimeInterval {
  double ms = std::numeric_limits<double>::quiet_NaN();
  double low_ms = std::numeric_limits<double>::quiet_NaN();
  double high_ms = std::numeric_limits<double>::quiet_NaN();
};

/// One job in the list of all.
struct FleetJob {
  std::string name;
  std::string href;   ///< its benchmark's page
  std::string state;  ///< "ok", "broken", "drifted", "slower", "faster", "waiting", …
  double weight = 1;
  std::string tags;        ///< "team=ads, tier=1"
  std::string platform;    ///< of the newest result; empty: none yet
  TimeInterval time = {};  ///< newest result
  double change =
      std::numeric_limits<double>::quiet_NaN();  ///< against the nights before, as a ratio
  double coverage = std::numeric_limits<double>::quiet_NaN();  ///< by count
  std::string note;  ///< what is wrong, or has changed last
};

/// One night in the list of nights.
struct FleetNight {
  std::string name;  ///< "12"
  std::string href;
  std::string date;   ///< opened, UTC
  std::string state;  ///< "done", "open"
  std::uint64_t jobs = 0;
  std::uint64_t unchanged = 0;
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
  std::string href;
  std::uint64_t benchmarks = 0;  ///< with a result
  std::uint64_t predicted = 0;   ///< of these, by prediction alone
  std::string newest;            ///< date of the newest result
};

/// How well a few jobs stand for the fleet (`fleet select`).
struct FleetSubset {
  std::string name;  ///< "10 of 47 jobs"
  std::uint64_t benchmarks = 0;
  /// Of its time by class from the fleet's, a share; and that of random ones of the same size.
  double mix_distance = std::numeric_limits<double>::quiet_NaN();
  double random_mix_distance = std::numeric_limits<double>::quiet_NaN();
  std::string text;  ///< the jobs
};

/// index.html: the whole fleet.
struct FleetData {
  std::string name;  ///< of the fleet: "fleet.db"
  std::string date;  ///< of what is shown: the newest night's
  std::string tool_version;
  std::vector<FleetNight> nights = {};  ///< newest first
  std::vector<FleetEvent> events = {};  ///< of the newest night, the weightiest first
  std::vector<FleetJob> jobs = {};
  std::vector<FleetPlatform> platforms = {};
  std::string platforms_href = {};  ///< the page that holds them against each other
  std::vector<FleetSubset> subsets = {};
  std::map<std::string, double> class_share = {};  ///< weighted, of the fleet's time
};
[[nodiscard]] Page fleet_page(const FleetData& data);

/// A result of a benchmark on a platform in a night.
struct SeriesResult {
  std::string night;  ///< as it is shown at the axis: "12" or a date
  std::string night_href = {};
  std::string date = {};
  TimeInterval time = {};
  std::map<std::string, double> class_ms = {};
  double coverage = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t peak_bytes = 0;
  bool is_predicted = false;
  std::string software = {};     ///< what the environment is told by: "torch 2.11.0, linux 6.1"
  std::string report_href = {};  ///< of that replay's own page, where it was kept
};

/// Where a series turned.
struct ChangePointMark {
  std::size_t index = 0;  ///< the first result that is another
  double before_ms = 0;
  double after_ms = 0;
  std::string text = {};  ///< classes and operators that moved; empty: not known
  std::vector<std::string> environment = {};  ///< fields that changed with it: "torch 2.10 → 2.11"
  bool is_recovery = false;                   ///< back at the level before it became slower
};

/// A benchmark on one platform, the oldest result first.
struct PlatformSeries {
  std::string platform;
  std::string platform_href = {};
  std::vector<SeriesResult> results = {};
  std::vector<ChangePointMark> changes = {};
};

/// One benchmark: its job, its work, its history.
struct BenchmarkData {
  std::string job;
  std::string job_path = {};  ///< where its traces lie
  std::string fleet_name = {};
  std::string fleet_href = {};
  std::string benchmark_hash = {};
  std::string generator = {};
  std::string flags = {};
  std::string made = {};  ///< UTC
  std::string state = {};
  std::string broken = {};   ///< why no newer benchmark could be made; else empty
  std::string failing = {};  ///< why its replay failed when it was tried last; else empty
  double weight = 1;
  std::string tags = {};
  int world_size = 1;
  std::string tool_version = {};
  std::map<std::string, double> class_share = {};  ///< of the recorded time
  bool is_timed = true;  ///< else no profile was linked: the shares are of calls
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< more of the fingerprint
  std::vector<PlatformSeries> platforms = {};
  std::vector<FleetEvent> events = {};  ///< newest first
};
[[nodiscard]] Page benchmark_page(const BenchmarkData& data);

/// One benchmark on a platform against the baseline; above 1 is slower.
struct PlatformRatio {
  std::string job;
  std::string href = {};
  double weight = 1;
  double value = 1;
  double low = 1;
  double high = 1;
  bool is_predicted = false;
};

struct PlatformResult {
  std::string platform;
  double value = 1;  ///< weighted ratio of times; of the baseline 1
  double low = 1;
  double high = 1;
  std::uint64_t benchmarks = 0;
  std::uint64_t predicted = 0;
  std::uint64_t without_interval = 0;  ///< of the benchmarks: ran too few iterations
  double weight_covered =
      std::numeric_limits<double>::quiet_NaN();  ///< share of the fleet's weight
  double first_probability =
      std::numeric_limits<double>::quiet_NaN();  ///< of being the fastest of all
  double faster_than_next =
      std::numeric_limits<double>::quiet_NaN();              ///< probability; of the last: absent
  std::vector<std::pair<std::string, double>> classes = {};  ///< part of (ratio − 1) by class
  std::vector<PlatformRatio> rows = {};
};

/// platforms.html: platforms against one of them, the fastest first.
struct PlatformsData {
  std::string fleet_name = {};
  std::string fleet_href = {};
  std::string baseline;
  std::string date = {};
  std::string tool_version = {};
  std::uint64_t common = 0;  ///< benchmarks that every platform has
  std::vector<PlatformResult> platforms = {};
  std::vector<std::string> without_common = {};  ///< platforms that have none of the baseline's
};
[[nodiscard]] Page platforms_page(const PlatformsData& data);
/// One of them, all of its benchmarks. `index`: place in data.platforms.
[[nodiscard]] Page platform_page(const PlatformsData& data, std::size_t index);

/// One item of a night's work.
struct NightItem {
  std::string kind;  ///< "generate", "replay", …
  std::string job;
  std::string job_href = {};
  std::string platform = {};
  std::string state;  ///< "done", "failed", "waiting"
  double duration_s = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t attempts = 1;
  std::string text = {};  ///< why it failed
};

/// One night.
struct NightData {
  std::string fleet_name = {};
  std::string fleet_href = {};
  std::string tool_version = {};
  FleetNight night;
  std::string closed = {};  ///< UTC; empty: still open
  std::string before_href = {};
  std::string after_href = {};
  std::vector<std::string> platforms = {};
  std::vector<FleetEvent> events = {};  ///< the weightiest first
  std::vector<NightItem> items = {};
};
[[nodiscard]] Page night_page(const NightData& data);

}  // namespace understudy::pages
