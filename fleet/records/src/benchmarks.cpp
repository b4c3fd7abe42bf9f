#include "fleet/records/benchmarks.h"

#include <fmt/format.h>

#include "et_schema/base/digest.h"
#include "json_columns.h"

namespace understudy::fleet {
namespace {

Benchmark benchmark_of(const Row& row) {
  constexpr std::size_t kFlags = 10;
  Benchmark made;
  row.into(made.id, made.key, made.object, made.bytes, made.benchmark_hash, made.world_size,
           made.generator, made.input_hash, made.made_utc, made.fingerprint);
  made.flags = texts_of(row, kFlags, {"benchmark", std::to_string(made.id), "flags"});
  return made;
}

std::vector<Benchmark> benchmarks_where(Connection& connection, const std::string& where,
                                        const Values& parameters,
                                        const char* fingerprint = "fingerprint") {
  return each_of(
      connection.query(
          fmt::format("SELECT id, key, object, bytes, benchmark_hash, world_size, generator, "
                      "input_hash, made_utc, {}, flags FROM benchmark {} ORDER BY id",
                      fingerprint, where),
          parameters),
      benchmark_of);
}

std::optional<Benchmark> first_of(std::vector<Benchmark> benchmarks) {
  return benchmarks.empty() ? std::nullopt : std::optional(std::move(benchmarks.front()));
}

}  // namespace

std::string benchmark_key(const std::string& input_hash, const std::string& generator,
                          const std::vector<std::string>& flags) {
  return et_schema::digest_of(fmt::format("{}\n{}\n{}", input_hash, generator, column_of(flags)));
}

std::int64_t put_benchmark(Connection& connection, const Benchmark& made) {
  const Rows rows = connection.query(
      "INSERT INTO benchmark (key, object, bytes, benchmark_hash, world_size, generator, flags, "
      "input_hash, fingerprint, made_utc) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
      "ON CONFLICT (key) DO UPDATE SET object = excluded.object, bytes = excluded.bytes, "
      "benchmark_hash = excluded.benchmark_hash, fingerprint = excluded.fingerprint RETURNING id",
      {made.key, made.object, made.bytes, made.benchmark_hash, std::int64_t{made.world_size},
       made.generator, column_of(made.flags), made.input_hash, made.fingerprint, made.made_utc});
  return rows.front().integer(0);
}

std::optional<Benchmark> find_benchmark(Connection& connection, std::int64_t id) {
  return first_of(benchmarks_where(connection, "WHERE id = $1", {id}));
}

std::optional<Benchmark> find_benchmark_by_key(Connection& connection, const std::string& key) {
  return first_of(benchmarks_where(connection, "WHERE key = $1", {key}));
}

std::optional<Benchmark> find_benchmark_by_hash(Connection& connection, const std::string& hash) {
  std::vector<Benchmark> all = benchmarks_where(connection, "WHERE benchmark_hash = $1", {hash});
  return all.empty() ? std::nullopt : std::optional(std::move(all.back()));
}

std::vector<Benchmark> current_benchmarks(Connection& connection) {
  return benchmarks_where(connection, "WHERE id IN (SELECT benchmark FROM job)", {});
}

std::vector<Benchmark> all_benchmarks(Connection& connection) {
  return benchmarks_where(connection, "", {}, "''");
}

void remove_benchmark(Connection& connection, std::int64_t id) {
  connection.execute("DELETE FROM benchmark WHERE id = $1", {id});
}

}  // namespace understudy::fleet
