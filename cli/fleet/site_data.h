#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/pages/fleet/fleet_pages.h"
#include "fleet/analysis/platforms.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"
#include "site.h"

namespace understudy::cli {

/// Data of all pages of a site, read once. The newest night provides the news of each job.
struct SiteData {
  SiteOptions options;
  pages::SiteFrame frame;
  std::vector<fleet::Job> jobs;
  std::map<std::int64_t, fleet::Benchmark> benchmarks;  ///< by id; only current benchmarks of jobs
  std::vector<fleet::Night> nights;                     ///< newest first
  std::vector<fleet::Event> events;                     ///< newest last, without repetitions
  std::vector<fleet::Result> newest;
  fleet::PlatformComparison platforms;  ///< empty if nothing was replayed
  // From the newest night's summary:
  std::vector<fleet::Event> turned;                 ///< series that changed in an earlier night
  std::map<std::string, std::string> still_broken;  ///< reason by job

  /// Returns the job's newest result on any platform; null: none.
  [[nodiscard]] const fleet::Result* newest_of(const fleet::Job& job) const;
  /// Returns "broken", "slower", "faster", "drifted", "new" or "ok". A job stays broken until it is
  /// repaired.
  [[nodiscard]] std::string state_of(const fleet::Job& job) const;
  /// Returns why the job's replay fails; empty if it does not.
  [[nodiscard]] std::string failing_text(const fleet::Job& job) const;
  /// Returns the job's problem, or its last change, in a few words.
  [[nodiscard]] std::string note_of(const fleet::Job& job) const;
  /// Returns the events of the job, and of replays of a benchmark that it shares with other jobs,
  /// newest first.
  [[nodiscard]] std::vector<fleet::Event> events_of(const fleet::Job& job) const;
  /// Returns the events of a night, the weightiest first, and changes of earlier nights that it
  /// detected.
  [[nodiscard]] std::vector<fleet::Event> events_of(const fleet::Night& night) const;

 private:
  [[nodiscard]] const fleet::Event* news_of(const fleet::Job& job) const;
};
/// Leaves `platforms` empty.
[[nodiscard]] SiteData read_site_data(fleet::Connection& connection, const SiteOptions& options);
[[nodiscard]] fleet::PlatformComparison compared_platforms(fleet::Connection& connection,
                                                           const SiteOptions& options);

/// Returns the place of a kind of event, or of a job's state, by importance: 0 is the most
/// important.
[[nodiscard]] std::size_t weight_of(const std::string& kind);

// Documents of the pages: cli/pages/fleet/fleet_pages.h.

/// Returns the whole fleet: the newest night's events, weightiest first; the jobs, broken and
/// slower ones first; the nights; the platforms; the subset of jobs that represents all.
[[nodiscard]] nlohmann::ordered_json fleet_document(fleet::Connection& connection,
                                                    const SiteData& data);
/// Returns the nights alone, each with its whole summary; null if it has not ended.
[[nodiscard]] nlohmann::ordered_json nights_document(const SiteData& data);
/// Returns a job, its benchmark, and a series of results on each platform, oldest first; also those
/// of the benchmarks that the job had before.
[[nodiscard]] nlohmann::ordered_json benchmark_document(fleet::Connection& connection,
                                                        const SiteData& data,
                                                        const fleet::Job& job);
/// Returns the summary of a night that has ended, and its `work`, item by item.
[[nodiscard]] nlohmann::ordered_json night_document(fleet::Connection& connection,
                                                    const SiteData& data,
                                                    const fleet::Night& night);

/// Returns the file name of the page with the result's report.
[[nodiscard]] std::string replay_file(const fleet::Result& result);

}  // namespace understudy::cli
