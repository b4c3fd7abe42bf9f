#include "fleet/records/jobs.h"

#include <map>

#include "json_columns.h"

namespace understudy::fleet {
namespace {

constexpr const char* kJobColumns =
    "SELECT id, name, path, weight, flags, added_utc, input_stat, input_hash, benchmark, broken, "
    "broken_key, broken_night, (SELECT benchmark_hash FROM benchmark b WHERE b.id = job.benchmark) "
    "FROM job ";

std::int64_t or_zero(const Row& row, std::size_t column) {
  return row.is_null(column) ? 0 : row.integer(column);
}

Job job_of(const Row& row) {
  Job job;
  job.id = row.integer(0);
  job.name = row.text(1);
  job.path = row.text(2);
  job.weight = row.real(3);
  job.flags = texts_of(row, 4, {"job", job.name, "flags"});
  job.added_utc = row.text(5);
  job.input_stat = row.text(6);
  job.input_hash = row.text(7);
  job.benchmark = or_zero(row, 8);
  job.broken = row.text(9);
  job.broken_key = row.text(10);
  job.broken_night = or_zero(row, 11);
  job.benchmark_hash = row.text(12);
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
