#include "fleet/records/jobs.h"

#include "json_columns.h"

namespace understudy::fleet {
namespace {

constexpr const char* kJobColumns =
    "SELECT id, name, path, weight, added_utc, input_stat, input_hash, COALESCE(benchmark, 0), "
    "broken, broken_key, COALESCE(broken_night, 0), (SELECT benchmark_hash FROM benchmark b WHERE "
    "b.id = job.benchmark), flags FROM job ";

Job job_of(const Row& row) {
  constexpr std::size_t kFlags = 12;
  Job job;
  row.into(job.id, job.name, job.path, job.weight, job.added_utc, job.input_stat, job.input_hash,
           job.benchmark, job.broken, job.broken_key, job.broken_night, job.benchmark_hash);
  job.flags = texts_of(row, kFlags, {"job", job.name, "flags"});
  return job;
}

std::vector<Job> jobs_where(Connection& connection, const std::string& where,
                            const Values& parameters) {
  std::vector<Job> jobs;
  std::map<std::int64_t, std::size_t> places;
  for (const Row& row : connection.query(kJobColumns + where + " ORDER BY name", parameters)) {
    places[row.integer(0)] = jobs.size();
    jobs.push_back(job_of(row));
  }
  for (const Row& row : connection.query("SELECT job, name, value FROM job_tag")) {
    if (const auto place = places.find(row.integer(0)); place != places.end()) {
      jobs[place->second].tags[row.text(1)] = row.text(2);
    }
  }
  return jobs;
}

bool is_alike(const Job& a, const Job& b) {
  return a.path == b.path && a.weight == b.weight && a.flags == b.flags && a.tags == b.tags;
}

}  // namespace

Added add_job(Connection& connection, const Job& job) {
  const std::vector<Job> before = jobs_where(connection, "WHERE name = $1", {job.name});
  if (!before.empty() && is_alike(before.front(), job)) {
    return Added::kAsBefore;
  }
  const Rows rows = connection.query(
      "INSERT INTO job (name, path, weight, flags, added_utc) VALUES ($1, $2, $3, $4, $5) "
      "ON CONFLICT (name) DO UPDATE SET path = excluded.path, weight = excluded.weight, "
      "flags = excluded.flags RETURNING id",
      {job.name, job.path, job.weight, column_of(job.flags), job.added_utc});
  const std::int64_t id = rows.front().integer(0);
  connection.execute("DELETE FROM job_tag WHERE job = $1", {id});
  for (const auto& [name, value] : job.tags) {
    connection.execute("INSERT INTO job_tag (job, name, value) VALUES ($1, $2, $3)",
                       {id, name, value});
  }
  return before.empty() ? Added::kNew : Added::kUpdated;
}

bool remove_job(Connection& connection, const std::string& name) {
  return connection.execute("DELETE FROM job WHERE name = $1", {name}) > 0;
}

std::vector<Job> all_jobs(Connection& connection) {
  return jobs_where(connection, "", {});
}

std::optional<Job> find_job(Connection& connection, std::int64_t id) {
  const Rows rows = connection.query(std::string(kJobColumns) + "WHERE id = $1", {id});
  return rows.empty() ? std::nullopt : std::optional(job_of(rows.front()));
}

std::vector<Job> jobs_of_benchmark(Connection& connection, std::int64_t benchmark) {
  return jobs_where(connection, "WHERE benchmark = $1", {benchmark});
}

std::vector<Job> jobs_of_benchmark_hash(Connection& connection, const std::string& hash) {
  return jobs_where(connection,
                    "WHERE benchmark IN (SELECT id FROM benchmark WHERE benchmark_hash = $1)",
                    {hash});
}

void set_benchmark(Connection& connection, const Job& job, std::int64_t benchmark,
                   const std::string& input_stat, const std::string& input_hash) {
  connection.execute(
      "UPDATE job SET benchmark = $2, input_stat = $3, input_hash = $4, broken = NULL, "
      "broken_key = NULL, broken_night = NULL WHERE id = $1",
      {job.id, benchmark, input_stat, input_hash});
}

void set_broken(Connection& connection, const Job& job, const std::string& why,
                const std::string& key, std::int64_t night, const std::string& input_stat) {
  connection.execute(
      "UPDATE job SET broken = $2, broken_key = $3, broken_night = COALESCE(broken_night, $4), "
      "input_stat = $5 WHERE id = $1",
      {job.id, why, key, night, input_stat});
}

void forget_inputs(Connection& connection, std::int64_t benchmark) {
  connection.execute("UPDATE job SET input_stat = NULL WHERE benchmark = $1", {benchmark});
}

}  // namespace understudy::fleet
