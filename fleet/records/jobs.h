#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// One training job: the location of its traces, and its state.
struct Job {
  std::int64_t id = 0;
  std::string name;
  std::string path;                         ///< absolute: a file, an archive or a folder
  double weight = 1;                        ///< share of the fleet, in any unit
  std::vector<std::string> flags;           ///< for `generate`
  std::map<std::string, std::string> tags;  ///< team=ads
  std::string added_utc;
  std::string input_stat;  ///< digest of names, sizes and times; empty: the content must be read
  std::string input_hash;  ///< digest of the content when last read
  std::int64_t benchmark = 0;  ///< id of the newest one made from it; 0: none
  std::string benchmark_hash;  ///< of `benchmark`; empty: none
  std::string broken;          ///< why no benchmark could be made of the newest traces; else empty
  std::string broken_key;      ///< benchmark_key() of an attempt that would fail again; empty: the
                               ///< failure may pass
  std::int64_t broken_night = 0;  ///< night in which it broke
};

enum class Added { kNew, kUpdated, kAsBefore };

/// Adds a job, or updates path, weight, flags and tags of the job with its name.
Added add_job(Connection& connection, const Job& job);
/// Returns false if no job has that name. Keeps its results.
bool remove_job(Connection& connection, const std::string& name);

[[nodiscard]] std::vector<Job> all_jobs(Connection& connection);
[[nodiscard]] std::optional<Job> find_job(Connection& connection, std::int64_t id);
[[nodiscard]] std::vector<Job> jobs_of_benchmark(Connection& connection, std::int64_t benchmark);
/// Returns all jobs with this hash: different traces or flags can make the same benchmark.
[[nodiscard]] std::vector<Job> jobs_of_benchmark_hash(Connection& connection,
                                                      const std::string& hash);

/// Records that the job's traces were read and that `benchmark` was made from them.
void set_benchmark(Connection& connection, const Job& job, std::int64_t benchmark,
                   const std::string& input_stat, const std::string& input_hash);
/// Records a failure. Keeps the previous benchmark, and the night in which the job broke first.
void set_broken(Connection& connection, const Job& job, const std::string& why,
                const std::string& key, std::int64_t night, const std::string& input_stat);
/// Makes the next night read the traces' content, even if their file times are unchanged.
void forget_inputs(Connection& connection, std::int64_t benchmark);

}  // namespace understudy::fleet
