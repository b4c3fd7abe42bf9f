#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fleet/analysis/platforms.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"
#include "fleet/site.h"
#include "pages/fleet/fleet_pages.h"

namespace understudy::cli {

/// What all pages of a site are made from, read once.
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
};
[[nodiscard]] SiteData read_site_data(fleet::Connection& connection, const SiteOptions& options);

/// What happened in a night, the weightiest first; and what it found to have
/// turned before it.
[[nodiscard]] std::vector<fleet::Event> events_of_night(const SiteData& data,
                                                        const fleet::Night& night);
[[nodiscard]] pages::FleetNight night_of(const SiteData& data, const fleet::Night& night);
/// Of the job itself, or of a replay of the benchmark that it has in common
/// with another.
[[nodiscard]] bool is_of_job(const fleet::Event& event, const std::string& job,
                             const std::string& benchmark_hash);
[[nodiscard]] std::string hash_of(const SiteData& data, const fleet::Job& job);
[[nodiscard]] const fleet::Benchmark* benchmark_of(const SiteData& data, const fleet::Job& job);
/// "broken", "slower", "faster", "drifted", "new", "ok": as the newest night
/// found it; broken until it is mended.
[[nodiscard]] std::string state_of(const SiteData& data, const fleet::Job& job);
/// Why the replay of the job fails; empty where it does not.
[[nodiscard]] std::string failing_text(const SiteData& data, const fleet::Job& job);
[[nodiscard]] pages::FleetData fleet_data(fleet::Connection& connection, const SiteData& data);
[[nodiscard]] pages::NightData night_data(fleet::Connection& connection, const SiteData& data,
                                          std::size_t place);
[[nodiscard]] pages::BenchmarkData benchmark_data(fleet::Connection& connection,
                                                  const SiteData& data, const fleet::Job& job);

}  // namespace understudy::cli
