#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// One training job: where its traces lie, and what is known of them.
struct Job {
  std::int64_t id = 0;
  std::string name;
  std::string path;                         ///< absolute: a file, an archive or a folder
  double weight = 1;                        ///< its share of the fleet, in any unit
  std::vector<std::string> flags;           ///< for `generate`
  std::map<std::string, std::string> tags;  ///< team=ads
  std::string added_utc;
  std::string input_stat;      ///< digest of names, sizes and times; empty: look at the content
  std::string input_hash;      ///< digest of the content, when it was last read
  std::int64_t benchmark = 0;  ///< the newest that was made of it; 0: none
  std::string benchmark_hash;  ///< of that one; empty: none
  std::string broken;          ///< why no benchmark could be made of its newest traces; else empty
  std::string broken_key;      ///< of what: the same again would break again; empty: it may pass
  std::int64_t broken_night = 0;  ///< since when
};

enum class Added { kNew, kUpdated, kAsBefore };

/// Adds a job, or brings the one of its name up to date: path, weight, flags, tags.
Added add_job(Connection& connection, const Job& job);
/// False if there is none of that name. Its results stay.
bool remove_job(Connection& connection, const std::string& name);

[[nodiscard]] std::vector<Job> all_jobs(Connection& connection);
[[nodiscard]] std::optional<Job> find_job(Connection& connection, std::int64_t id);
[[nodiscard]] std::vector<Job> jobs_of_benchmark(Connection& connection, std::int64_t benchmark);
/// Traces or flags that differ can make the same benchmark.
[[nodiscard]] std::vector<Job> jobs_of_benchmark_hash(Connection& connection,
                                                      const std::string& hash);

/// Its traces were read and a benchmark of them is there.
void set_benchmark(Connection& connection, const Job& job, std::int64_t benchmark,
                   const std::string& input_stat, const std::string& input_hash);
/// No benchmark could be made; the one before stays. Keeps the night in which it broke first.
void set_broken(Connection& connection, const Job& job, const std::string& why,
                const std::string& key, std::int64_t night, const std::string& input_stat);
/// The next night looks at its traces' content, whatever their times say.
void forget_inputs(Connection& connection, std::int64_t benchmark);

}  // namespace understudy::fleet
