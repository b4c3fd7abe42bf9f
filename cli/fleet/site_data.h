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

/// What all pages of a site are made from, read once, and what the newest night
/// says of a job.
struct SiteData {
  SiteOptions options;
  pages::SiteFrame frame;
  std::vector<fleet::Job> jobs;
  std::map<std::int64_t, fleet::Benchmark> benchmarks;  ///< by id; those that jobs have now
  std::vector<fleet::Night> nights;                     ///< newest first
  std::vector<fleet::Event> events;                     ///< newest last, each told once
  std::vector<fleet::Result> newest;
  fleet::PlatformComparison platforms;  ///< empty where nothing was replayed
  // Of the newest night's summary:
  std::vector<fleet::Event> turned;                 ///< series that turned in a night before
  std::map<std::string, std::string> still_broken;  ///< by job: why

  /// The job's newest result on any platform; null: none.
  [[nodiscard]] const fleet::Result* newest_of(const fleet::Job& job) const;
  /// "broken", "slower", "faster", "drifted", "new", "ok"; broken until it is
  /// mended.
  [[nodiscard]] std::string state_of(const fleet::Job& job) const;
  /// Why the replay of the job fails; empty where it does not.
  [[nodiscard]] std::string failing_text(const fleet::Job& job) const;
  /// What is wrong with the job, or has changed last, in a few words.
  [[nodiscard]] std::string note_of(const fleet::Job& job) const;
  /// What happened to the job itself, or to a replay of the benchmark that it
  /// has in common with another, the newest first.
  [[nodiscard]] std::vector<fleet::Event> events_of(const fleet::Job& job) const;
  /// What happened in a night, the weightiest first; and what it found to have
  /// turned before it.
  [[nodiscard]] std::vector<fleet::Event> events_of(const fleet::Night& night) const;

 private:
  [[nodiscard]] const fleet::Event* news_of(const fleet::Job& job) const;
};
[[nodiscard]] SiteData read_site_data(fleet::Connection& connection, const SiteOptions& options);

/// Kinds of events, and states of jobs, in the order of their weight: the least
/// first.
[[nodiscard]] std::size_t weight_of(const std::string& kind);

// The documents of the pages: cli/pages/fleet/fleet_pages.h.

/// The whole fleet: the newest night's events, the weightiest first; the jobs
/// that are broken, slower, … in front; the nights; the platforms; the few jobs
/// that stand for all.
[[nodiscard]] nlohmann::ordered_json fleet_document(fleet::Connection& connection,
                                                    const SiteData& data);
/// A job, its benchmark, and a series of results on each platform, the oldest
/// first.
[[nodiscard]] nlohmann::ordered_json benchmark_document(fleet::Connection& connection,
                                                        const SiteData& data,
                                                        const fleet::Job& job);
[[nodiscard]] nlohmann::ordered_json night_document(fleet::Connection& connection,
                                                    const SiteData& data,
                                                    const fleet::Night& night);

/// The page of a result's own report.
[[nodiscard]] std::string replay_file(const fleet::Result& result);

}  // namespace understudy::cli
